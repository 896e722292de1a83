"""Spack recipe for the checkout that it lies in: `spack repo add scripts/site/spack`, then `spack install pardnn`. Spack 0.23 or later."""
from pathlib import Path

from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:  # before Spack 1.0 it comes with spack.package
    pass


class Pardnn(CMakePackage):
    """Places the operations of DNN training graphs on devices, for the least step time within their memory."""

    git = Path(__file__).resolve().parents[5].as_uri()

    version("main", branch="main")

    variant("mpi", default=True, description="Search on many ranks")
    variant("shared", default=False, description="Build the library as a shared one")
    variant("metis", default=False, description="METIS among the baselines of `pardnn compare`")
    variant("scotch", default=False, description="Scotch among the baselines of `pardnn compare`")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("hdf5@1.10: ~mpi")
    depends_on("zlib-api")
    depends_on("intel-tbb@2021.5:")
    depends_on("fmt@9:")
    depends_on("nlohmann-json@3.11:")
    depends_on("cli11@2:")
    depends_on("xxhash@0.8:")
    depends_on("mpi@3:", when="+mpi")
    depends_on("metis@5:", when="+metis")
    depends_on("scotch ~mpi", when="+scotch")
    depends_on("googletest", type="test")

    conflicts("%gcc@:11", msg="C++20: GCC 12 or later")
    conflicts("%clang@:13", msg="C++20: Clang 14 or later")

    sanity_check_is_file = [join_path("bin", "pardnn")]

    def cmake_args(self):
        arguments = [
            self.define_from_variant("PARDNN_MPI", "mpi"),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define("PARDNN_TESTS", self.run_tests),
        ]
        # What CMake finds it takes: a library of the system is hidden where its variant is off.
        for library in ("metis", "scotch"):
            if self.spec.satisfies(f"~{library}"):
                arguments.append(self.define(f"{library.upper()}_LIBRARY", False))
        return arguments
