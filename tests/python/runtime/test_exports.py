"""Placements in the forms of other tools, and what these cannot say."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")

import runtime_models  # noqa: E402
from runtime_support import random_placement  # noqa: E402

from pardnn.exports import main  # noqa: E402
from pardnn.runtime.modules import forward_modules, tensor_names  # noqa: E402
from pardnn.torch_step.program import load_program  # noqa: E402


def by_module(path, target, device, **nodes):
    """A placement that follows modules: ``device(module)``; what is no tensor or call of a forward pass goes with its group, else to device 0."""
    graph, program = load_program(path)
    home = {node: device(name) for name, node in reversed(list(tensor_names(program).items()))}
    home.update({n: device(m) for n, m in forward_modules(program, graph).items() if m})
    home.update({graph.names.index(n): d for n, d in nodes.items()})
    groups = {int(graph.colocation[n]): d for n, d in home.items() if graph.colocation[n] >= 0 and graph.kind[n] == 1}
    root = list(range(graph.num_nodes))
    for n in range(graph.num_nodes):
        if graph.alias[n] >= 0:
            root[n] = root[int(graph.alias[n])]
    for n in range(graph.num_nodes):
        if graph.colocation[n] >= 0 and graph.colocation[n] not in groups:
            groups[int(graph.colocation[n])] = home.get(root[n], 0)
    place = [groups.get(int(graph.colocation[r]), home.get(r, 0)) if graph.colocation[r] >= 0 else home.get(r, 0) for r in root]
    target.write_text("".join(f"{name}\t{d}\n" for name, d in zip(graph.names, place)))
    return str(target)


def late(module):
    return int(module.startswith(("units.1", "units.2", "bn.", "classifier")) or module in ("bn", "classifier"))


def exported(path, placement, option, target):
    assert main([str(path), str(placement), option, str(target)]) == 0
    return json.loads(target.read_text())


def test_key_value_file_is_read_again(graphs, tmp_path):
    path, graph = graphs("gpt")
    placement = random_placement(graph, 3, 1, tmp_path / "p.tsv")
    assert main([str(path), str(placement), "--key-value", str(tmp_path / "kv.tsv")]) == 0
    assert (tmp_path / "kv.tsv").read_text() == placement.read_text()


def test_device_map_covers_every_tensor_once(graphs, tmp_path, capsys):
    """As accelerate asks: each parameter and buffer has a nearest entry, and tied weights have one device."""
    path, graph = graphs("gpt")
    found = exported(path, random_placement(graph, 3, 1, tmp_path / "p.tsv"), "--device-map", tmp_path / "m.json")
    module = runtime_models.gpt().module
    names = [n for n, _ in module.named_parameters(remove_duplicate=False)] + [n for n, _ in module.named_buffers()]
    nearest = {}
    for name in names:
        entries = [e for e in found if not e or name == e or name.startswith(e + ".")]
        assert entries, name
        nearest[name] = found[max(entries, key=len)]
    assert nearest["wte.weight"] == nearest["lm_head.weight"]
    assert set(found.values()) <= {0, 1, 2}
    modules = dict(module.named_modules())
    assert all(e in modules or e in names for e in found)
    assert "of tensors are elsewhere" in capsys.readouterr().out


def test_device_map_of_whole_modules_loses_nothing(graphs, tmp_path, capsys):
    path, _ = graphs("resnet")
    found = exported(path, by_module(path, tmp_path / "p.tsv", late), "--device-map", tmp_path / "m.json")
    assert found == {"stem": 0, "units.0": 0, "units.1": 1, "units.2": 1, "bn": 1, "classifier": 1}
    told = capsys.readouterr().out
    assert "lost      0 of " in told and "B of tensors are elsewhere (0.0 %)" in told and "calls of the forward pass are elsewhere, 0.0 %" in told
    found = exported(path, by_module(path, tmp_path / "q.tsv", lambda module: 0), "--device-map", tmp_path / "m.json")
    assert found == {"": 0}


def test_device_map_counts_what_it_moves(graphs, tmp_path, capsys):
    """A bias that is alone on another device moves to its weight."""
    path, graph = graphs("resnet")
    exported(path, by_module(path, tmp_path / "p.tsv", lambda m: int(m == "classifier.bias")), "--device-map", tmp_path / "m.json")
    size = int(graph.mem[graph.names.index("classifier.bias")])
    told = capsys.readouterr().out
    assert f"lost      {size:,} of " in told and "1 modules had tensors on several devices: classifier" in told


def test_chain_is_split_where_the_device_changes(graphs, tmp_path):
    path, _ = graphs("resnet")
    found = exported(path, by_module(path, tmp_path / "p.tsv", late), "--pipeline", tmp_path / "s.json")
    assert found == {"split": {"units.1": "beginning"}, "devices": [0, 1]}
    from torch.distributed.pipelining import SplitPoint, pipeline

    torch.manual_seed(0)
    step = runtime_models.resnet()
    step.module.eval()  # batch norm's counters are written in place otherwise, which a pipeline's trace refuses
    pipe = pipeline(step.module, mb_args=(step.inputs[0],), split_spec={m: SplitPoint.BEGINNING for m in found["split"]})
    assert pipe.num_stages == 2
    assert torch.equal(pipe(step.inputs[0])[0] if isinstance(pipe(step.inputs[0]), tuple) else pipe(step.inputs[0]), step.module(step.inputs[0]))


@pytest.mark.parametrize(("device", "nodes", "message"), [
    (lambda m: int(m.startswith("units.1")), {}, "no chain: the forward pass comes back to device 0 at 'units.2"),
    (lambda m: int(late(m) or m == "units.0.conv2" or m.startswith("units.0.conv2.")), {"units.0.relu_1": 1, "units.0.add_0": 1},
     "no chain of modules: device 0 changes to 1 inside module 'units.0', at 'units.0.relu_1'"),
    (lambda m: late(m) * (m != "units.1.conv1.weight"), {}, "no chain: 'units.1.conv1.weight' is on device 0, used on device 1")])
def test_what_is_no_chain_is_refused(device, nodes, message, graphs, tmp_path, capsys):
    path, _ = graphs("resnet")
    assert main([str(path), by_module(path, tmp_path / "p.tsv", device, **nodes), "--pipeline", str(tmp_path / "s.json")]) == 3
    assert message in capsys.readouterr().err
    assert not (tmp_path / "s.json").exists()


def test_tied_weights_are_no_chain(graphs, tmp_path, capsys):
    path, _ = graphs("gpt")
    placement = by_module(path, tmp_path / "p.tsv", lambda m: int(m.startswith(("h.1", "ln"))))
    assert main([str(path), placement, "--pipeline", str(tmp_path / "s.json")]) == 3
    assert "no chain" in capsys.readouterr().err


def test_command_line_says_what_is_missing(graphs, tmp_path, capsys):
    path, graph = graphs("resnet")
    placement = random_placement(graph, 2, 1, tmp_path / "p.tsv")
    assert main([str(path), str(placement)]) == 3
    assert main([str(path), str(tmp_path / "missing.tsv"), "--key-value", "x"]) == 3
    assert main([str(path), str(placement), "--key-value", str(tmp_path / "missing/x")]) == 3
    assert capsys.readouterr().err.count("\n") == 3
