"""What the graph of a captured step says: kinds, aliases, groups, edges, gradients, names."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_step_models import Transformer, cross_entropy  # noqa: E402
from torch_step_support import Flat, captured, seeded  # noqa: E402

from pardnn.graph import Kind  # noqa: E402
from pardnn.torch_step.capture import capture, capture_step  # noqa: E402
from pardnn.torch_step.optimizers import capturable  # noqa: E402
from pardnn.torch_step.step import Step, train_step  # noqa: E402


def ids(found):
    return {name: n for n, name in enumerate(found.graph.names)}


def edges(found):
    g = found.graph
    return {(g.names[s], g.names[t], o): b for s, t, o, b in zip(g.source.tolist(), g.target.tolist(), g.output.tolist(), g.bytes.tolist())}


def linear_step(optimizer=None, **options):
    module = nn.Linear(6, 3)
    return Step(module, cross_entropy, (torch.randn(4, 6), torch.randint(0, 3, (4,))), optimizer or (lambda p: torch.optim.SGD(p, lr=0.1)), **options)


def test_a_linear_layer_by_hand():
    """addmm reads bias, x and the transposed weight; the update of the weight waits for its reader and for its gradient."""
    found = captured(linear_step())
    n, e, g = ids(found), edges(found), found.graph
    assert list(g.names[:4]) == ["weight", "bias", "input/x", "input/y"]
    assert g.kind[:4].tolist() == [Kind.RESIDUAL, Kind.RESIDUAL, Kind.NORMAL, Kind.NORMAL]
    assert g.mem[:4].tolist() == [72, 12, 96, 32]
    assert g.alias[n["t_0"]] == n["weight"] and g.mem[n["t_0"]] == 0
    assert e["weight", "t_0", 0] == 72 and e["t_0", "addmm_0", 0] == 72 and e["bias", "addmm_0", 0] == 12 and e["input/x", "addmm_0", 0] == 96
    assert g.mem[n["addmm_0"]] == 48
    update = n["opt/weight.add__0"]
    assert g.kind[update] == Kind.REFERENCE and g.alias[update] == n["weight"] and g.colocation[update] == g.colocation[n["weight"]]
    assert g.mem[update] == 0 and e["grad/mm_0", "opt/weight.add__0", 0] == 72
    assert e["addmm_0", "opt/weight.add__0", 0] == 0


def test_every_parameter_has_one_gradient_before_clipping():
    for name, parts in (("cnn", 1), ("cnn", 2), ("transformer", 1), ("transformer", 4), ("experts", 2)):
        found = captured(seeded(name), micro_batches=parts)
        g = found.graph
        parameters = {b.ref.node: b for b in found.program.bindings if b.role == "parameter"}
        assert sorted(g.gradient_of[g.gradient_of >= 0].tolist()) == sorted(parameters), name
        for node in (g.gradient_of >= 0).nonzero()[0].tolist():
            assert g.names[node].startswith("grad/"), g.names[node]
            assert found.program.calls[node].outputs[0].shape == parameters[int(g.gradient_of[node])].spec.shape


def test_tied_weights_are_one_residual_with_both_names():
    found = captured(seeded("transformer"))
    assert "wte.weight" in found.graph.names and "head.weight" not in found.graph.names
    refs = {b.name: b.ref for b in found.program.bindings}
    assert refs["wte.weight"] == refs["head.weight"]
    assert found.graph.residual_bytes() == sum(p.numel() * 4 * 3 + 4 for p in seeded("transformer").module.parameters()) + 8 * 8


def test_state_shares_the_group_of_its_parameter():
    found = captured(seeded("transformer"))
    n, g = ids(found), found.graph
    groups = {g.colocation[n[x]] for x in ("wpe.weight", "wpe.weight/exp_avg", "wpe.weight/exp_avg_sq", "wpe.weight/step")}
    assert len(groups) == 1 and g.colocation[n["wte.weight"]] not in groups


def test_batch_norm_stays_with_its_running_statistics():
    found = captured(seeded("cnn"))
    n, g = ids(found), found.graph
    node = n["1.norm1.native_batch_norm_0"]
    assert g.kind[node] == Kind.NORMAL and g.mem[node] > 0
    assert g.colocation[node] == g.colocation[n["1.norm1.running_mean"]] == g.colocation[n["1.norm1.running_var"]]


def test_names_lead_to_modules_phases_and_micro_batches():
    found = captured(seeded("transformer"), micro_batches=2)
    names = set(found.graph.names)
    for expected in ("input/mb0.ids", "input/mb1.y", "mb0.h.0.qkv.addmm_0", "mb1.h.1.mlp.1.gelu_0", "grad/mb1.h.0.mlp.2.mm_0",
                     "opt/clip.linalg_vector_norm_0", "opt/h.1.qkv.weight.addcdiv__0"):
        assert expected.replace("ids", "x") in names, expected
    assert found.graph.samples_per_step == 4 and found.program.micro_batches == 2


def test_outputs_of_a_step_with_several_are_told_apart_and_expanded_tensors_count_once():
    def step_fn(x):
        weight = holder["w"]
        weight.grad = None
        a, b = (x @ weight).chunk(2, 1)
        loss = (a * 2 + b).sum() + a.mean(0, keepdim=True).expand(8, 3).sum()
        loss.backward()
        with torch.no_grad():
            weight.sub_(weight.grad)
        return loss

    holder = nn.ParameterDict({"w": nn.Parameter(torch.randn(4, 6))})
    found = capture(step_fn, (torch.randn(8, 4),), modules=holder, optimizers=[], costs=Flat())
    spread = [b for (s, t, o), b in edges(found).items() if s.startswith("expand")]
    assert spread and all(b <= 12 for b in spread)
    chunks = {o for (s, t, o), b in edges(found).items() if s.startswith("split")}
    assert chunks == {0, 1}


def test_dead_calls_are_left_out_and_counted():
    def loss(module, x, y):
        torch.sin(x).cos()
        return cross_entropy(module, x, y)

    step = linear_step()
    step.loss = loss
    found = captured(step)
    assert found.dead["aten::sin"] == found.dead["aten::cos"] == 1
    assert not {"aten::sin", "aten::cos"} & set(found.graph.op_types)


def test_foreach_and_fused_optimizers_of_the_users_own_tie_their_groups():
    weights = nn.ParameterList(torch.randn(3) for _ in range(3))

    def step_fn(x):
        for w in weights:
            w.grad = None
        loss = sum((w * x).sum() for w in weights)
        loss.backward()
        with torch.no_grad():
            torch._foreach_add_(list(weights), [w.grad for w in weights], alpha=-0.1)
        return loss

    found = capture(step_fn, (torch.randn(3),), modules=weights, optimizers=[], costs=Flat())
    g = found.graph
    assert len(set(g.colocation[:3].tolist())) == 1
    node = [i for i, n in enumerate(g.names) if "_foreach_add_" in n]
    assert len(node) == 1 and g.kind[node[0]] == Kind.REFERENCE


def test_the_users_objects_are_as_before():
    module = nn.Linear(6, 3)
    optimizer = torch.optim.Adam(module.parameters())
    F.cross_entropy(module(torch.randn(4, 6)), torch.zeros(4, dtype=torch.long)).backward()
    optimizer.step()
    before = {k: v.clone() for k, v in module.state_dict().items()}
    state = {k: v for k, v in optimizer.state.items()}
    group = dict(optimizer.param_groups[0])
    capture_step(Step(module, cross_entropy, (torch.randn(4, 6), torch.randint(0, 3, (4,))), lambda p: optimizer), Flat())
    assert all(torch.equal(before[k], v) for k, v in module.state_dict().items())
    assert list(optimizer.state) == list(state) and all(optimizer.state[k] is state[k] for k in state)
    assert {k: v for k, v in optimizer.param_groups[0].items() if k != "params"} == {k: v for k, v in group.items() if k != "params"}
    assert optimizer.param_groups[0]["params"][0] is module.weight and not torch.is_inference(module.weight)


def test_recording_real_tensors_gives_the_same_graph():
    """The recorder needs no fake tensors: a plain step that is recorded while it runs has the nodes and edges of the captured one."""
    step = seeded("transformer")
    optimizer = step.optimizer(step.module.parameters())
    with capturable([optimizer]):
        train_step(step, optimizer, [step.inputs])

    def step_fn(x, y):
        return train_step(step, optimizer, [(x, y)])

    fake = capture(step_fn, step.inputs, modules=step.module, optimizers=optimizer, costs=Flat())
    before = step.module.wpe.weight.detach().clone()
    real = capture(step_fn, step.inputs, modules=step.module, optimizers=optimizer, costs=Flat(), data=True)
    assert not torch.equal(before, step.module.wpe.weight)
    assert real.graph.names == fake.graph.names
    for column in ("mem", "kind", "alias", "colocation", "gradient_of", "source", "target", "bytes", "output"):
        assert (getattr(real.graph, column) == getattr(fake.graph, column)).all(), column
    assert [c and (c.op, c.outputs) for c in real.program.calls] == [c and (c.op, c.outputs) for c in fake.program.calls]


@pytest.mark.filterwarnings("ignore:Using `torch.compile")
def test_a_compiled_module_is_captured_as_it_was_written():
    module = nn.Sequential(nn.Linear(6, 4), nn.GELU(), nn.Linear(4, 3))
    plain, compiled = (capture_step(Step(m, cross_entropy, (torch.randn(4, 6), torch.randint(0, 3, (4,))), lambda p: torch.optim.SGD(p, lr=0.1)),
                                    Flat()) for m in (module, torch.compile(module)))
    assert [n.removeprefix("_orig_mod.") for n in compiled.graph.names[:4]] == plain.graph.names[:4]
    assert [c and c.op for c in compiled.program.calls] == [c and c.op for c in plain.program.calls]


def test_capturing_twice_gives_the_same_bytes():
    from pardnn.torch_step.program import dump_program

    one, two = (captured(seeded("transformer"), micro_batches=2) for _ in range(2))
    assert dump_program(one.program, one.graph) == dump_program(two.program, two.graph)
    assert one.graph.names == two.graph.names and (one.graph.bytes == two.graph.bytes).all() and (one.graph.mem == two.graph.mem).all()


def test_a_model_larger_than_memory_is_only_described():
    """A model of 10^12 parameters, built on the meta device."""
    with torch.device("meta"):
        module = Transformer(50000, 1 << 17, 5, 128)
        data = torch.zeros(1, 128, dtype=torch.long), torch.zeros(1, 128, dtype=torch.long)
    found = captured(Step(module, cross_entropy, data, lambda p: torch.optim.AdamW(p)))
    count = sum(p.numel() for p in module.parameters())
    assert count > 10**12
    assert abs(found.graph.residual_bytes() - 12 * count) < 10_000


def test_the_public_names():
    from pardnn import capture_torch

    module = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    data = torch.randn(4, 6), torch.randint(0, 3, (4,))

    def my_step(x, y):
        optimizer.zero_grad()
        loss = cross_entropy(module, x, y)
        loss.backward()
        optimizer.step()
        return loss

    own = capture_torch.capture(my_step, data, modules=module, optimizers=optimizer, costs="roofline:V100")
    usual = capture_torch.capture_step(capture_torch.Step(module, cross_entropy, data, lambda p: optimizer), "roofline:V100")
    assert own.graph.names == usual.graph.names and (own.graph.comp == usual.graph.comp).all() and own.graph.comp.sum() > 0
    assert own.graph.samples_per_step == usual.graph.samples_per_step == 4
    assert own.coverage.flops == usual.coverage.flops == 2 * (2 * 4 * 6 * 3)  # forward, and the gradient of the weight
