"""scripts/site: the recipes name what is there. Spack and Apptainer themselves are not needed."""
import pathlib
import re
import sys
import types
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "scripts/site"
RECIPE = SITE / "spack/packages/pardnn/package.py"
CMAKE = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "CMakeLists.txt", *sorted((ROOT / "scripts/cmake").glob("*.cmake"))])


class Spec:
    def __init__(self, *variants):
        self.variants = variants

    def satisfies(self, constraint):
        return constraint in self.variants


def recipe():
    """The class of package.py, and the names that its directives were called with."""
    calls = {}
    package = types.ModuleType("spack.package")
    for directive in ("version", "variant", "depends_on", "conflicts"):
        setattr(package, directive, lambda first, *_, directive=directive, **__: calls.setdefault(directive, []).append(first))
    package.join_path = lambda *parts: "/".join(parts)
    package.CMakePackage = type("CMakePackage", (), {"define": staticmethod(lambda name, value: (name, value)),
                                                     "define_from_variant": staticmethod(lambda name, variant: (name, variant))})
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": package})
    names = {"__file__": str(RECIPE), "__name__": "package"}
    exec(compile(RECIPE.read_text(encoding="utf-8"), RECIPE, "exec"), names)  # as Spack does
    return names["Pardnn"], calls


class Spack(unittest.TestCase):
    def test_its_source_is_this_checkout(self):
        address = urllib.parse.urlparse(recipe()[0].git)
        self.assertEqual((address.scheme, pathlib.Path(urllib.parse.unquote(address.path))), ("file", ROOT))

    def test_every_library_that_cmake_asks_for_is_a_dependency(self):
        found = {name.lower() for name in re.findall(r"find_package\((\w+)", CMAKE)} - {"threads", "openmp"}
        found |= {name.lower() for name in re.findall(r"find_path\((\w+)_INCLUDE_DIR", CMAKE)}
        alias = {"zlib": "zlib-api", "tbb": "intel-tbb", "nlohmann_json": "nlohmann-json", "gtest": "googletest"}
        depended_on = {re.match(r"[\w-]+", spec)[0] for spec in recipe()[1]["depends_on"]} - {"c", "cxx", "cmake"}
        self.assertEqual({alias.get(name, name) for name in found}, depended_on)

    def test_its_options_are_options_of_the_build(self):
        package, calls = recipe()
        package.run_tests, package.spec = False, Spec("+mpi", "~metis", "~scotch")
        arguments = package.cmake_args(package())
        for name, value in arguments:
            self.assertTrue(name == "BUILD_SHARED_LIBS" or name in CMAKE, name)
            self.assertTrue(isinstance(value, bool) or value in calls["variant"], value)
        self.assertIn(("METIS_LIBRARY", False), arguments)
        package.spec = Spec("+mpi", "+metis", "+scotch")
        self.assertNotIn("METIS_LIBRARY", dict(package.cmake_args(package())))


class Apptainer(unittest.TestCase):
    TEXT = (SITE / "pardnn.def").read_text(encoding="utf-8")

    def test_files_are_there(self):
        files = [line.split()[0] for line in self.TEXT.split("%files\n")[1].split("\n\n")[0].splitlines()]
        self.assertIn("src", files)
        for file in files:
            self.assertTrue((ROOT / file).exists(), file)

    def test_it_calls_functions_of_setup(self):
        setup = (ROOT / "scripts/setup.sh").read_text(encoding="utf-8")
        for name in ("install_packages", "configure", "build"):
            self.assertRegex(self.TEXT, rf"(?m)^ +{name} ")
            self.assertIn(f"\n{name}() {{", setup)


unittest.main()
