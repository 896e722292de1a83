"""FLOPs by hand: a multiply and an add are two."""

from __future__ import annotations

import pytest
from costs_support import aten, f32, i64, recorded_calls
from pardnn.costs.flops import matrix_flops, unfolded_elements

IMAGES, FILTERS, CONVOLVED = f32(2, 6, 9, 9), f32(8, 6, 3, 3), f32(2, 8, 4, 4)  # stride 2, no padding: (9 - 3) / 2 + 1 = 4


def convolution(x, w, out, groups=1, transposed=False):
    return aten("convolution.default", x, w, None, (2, 2), (0, 0), (1, 1), transposed, (0, 0), groups, out=out)


def backward(grad, x, w, mask, groups=1, transposed=False):
    return aten("convolution_backward.default", grad, x, w, (w.shape[0],), (2, 2), (0, 0), (1, 1), transposed, (0, 0), groups, mask, out=())


@pytest.mark.parametrize("call, flops", [
    (aten("mm.default", f32(3, 5), f32(5, 7), out=f32(3, 7)), 2 * 3 * 5 * 7),
    (aten("addmm.default", f32(7), f32(3, 5), f32(5, 7), out=f32(3, 7)), 2 * 3 * 5 * 7),
    (aten("bmm.default", f32(4, 3, 5), f32(4, 5, 7), out=f32(4, 3, 7)), 2 * 4 * 3 * 5 * 7),
    (aten("baddbmm.default", f32(4, 3, 7), f32(4, 3, 5), f32(4, 5, 7), out=f32(4, 3, 7)), 2 * 4 * 3 * 5 * 7),
    (aten("addmv.default", f32(3), f32(3, 5), f32(5), out=f32(3)), 2 * 3 * 5),
    (aten("dot.default", f32(5), f32(5), out=f32()), 2 * 5),
    (aten("matmul.default", f32(2, 1, 3, 5), f32(4, 5, 7), out=f32(2, 4, 3, 7)), 2 * 2 * 4 * 3 * 5 * 7),
    (aten("matmul.default", f32(2, 4, 3, 5), f32(5), out=f32(2, 4, 3)), 2 * 2 * 4 * 3 * 5),
    (aten("linear.default", f32(2, 3, 5), f32(7, 5), f32(7), out=f32(2, 3, 7)), 2 * 2 * 3 * 5 * 7),
    # 32 outputs per image and channel pair, 6 channels of 3 x 3 each
    (convolution(IMAGES, FILTERS, CONVOLVED), 2 * (2 * 8 * 4 * 4) * (6 * 3 * 3)),
    (convolution(IMAGES, f32(8, 3, 3, 3), CONVOLVED, groups=2), 2 * (2 * 8 * 4 * 4) * (3 * 3 * 3)),
    (convolution(IMAGES, f32(6, 8, 3, 3), f32(2, 8, 19, 19), transposed=True), 2 * (2 * 6 * 9 * 9) * (8 * 3 * 3)),
    (backward(CONVOLVED, IMAGES, FILTERS, (True, True, True)), 2 * 2 * (2 * 8 * 4 * 4) * (6 * 3 * 3)),
    (backward(CONVOLVED, IMAGES, FILTERS, (False, True, True)), 2 * (2 * 8 * 4 * 4) * (6 * 3 * 3)),
    (backward(CONVOLVED, IMAGES, FILTERS, (False, False, True)), 0),
    (backward(CONVOLVED, IMAGES, f32(8, 3, 3, 3), (True, True, False), groups=2), 2 * 2 * (2 * 8 * 4 * 4) * (3 * 3 * 3)),
    (backward(f32(2, 8, 19, 19), IMAGES, f32(6, 8, 3, 3), (True, False, False), transposed=True), 2 * (2 * 6 * 9 * 9) * (8 * 3 * 3)),
    # queries 2 x 4 heads x 10 x 8, keys 12 long, values 16 wide: scores, then values
    (aten("_scaled_dot_product_flash_attention.default", f32(2, 4, 10, 8), f32(2, 4, 12, 8), f32(2, 4, 12, 16)), 2 * 8 * 10 * 12 * (8 + 16)),
    (aten("_scaled_dot_product_efficient_attention.default", f32(2, 4, 10, 8), f32(2, 1, 12, 8), f32(2, 1, 12, 8), None, False), 2 * 8 * 10 * 12 * 16),
    (aten("_scaled_dot_product_flash_attention_for_cpu_backward.default", f32(2, 4, 10, 16), f32(2, 4, 10, 8), f32(2, 4, 12, 8), f32(2, 4, 12, 16)),
     2 * 8 * 10 * 12 * (3 * 8 + 2 * 16)),
    (aten("_flash_attention_forward.default", f32(2, 10, 4, 8), f32(2, 12, 4, 8), f32(2, 12, 4, 8), None, None, 10, 12, 0.0, False, False),
     2 * 8 * 10 * 12 * 16),
    (aten("mkldnn_rnn_layer.default", f32(7, 3, 5), f32(16, 5), f32(16, 4), f32(16), f32(16), f32(3, 4), f32(3, 4)), 2 * 7 * 3 * (16 * 5 + 16 * 4)),
])
def test_products_are_counted_exactly(call, flops):
    assert matrix_flops(call) == flops


@pytest.mark.parametrize("call", [aten("add.Tensor", f32(3), f32(3), out=f32(3)), aten("embedding.default", f32(9, 3), i64(2), out=f32(2, 3))])
def test_elementwise_work_has_no_product(call):
    assert matrix_flops(call) is None


def test_tensors_may_come_as_keywords():
    assert matrix_flops(aten("mm.default", f32(3, 5), mat2=f32(5, 7), out=f32(3, 7))) == 2 * 3 * 5 * 7


def test_missing_tensor_is_named():
    with pytest.raises(ValueError, match=r"aten::mm.default: argument 1 \('mat2'\): expected a tensor"):
        matrix_flops(aten("mm.default", f32(3, 5)))


def test_unfolded_windows():
    assert unfolded_elements(convolution(IMAGES, FILTERS, CONVOLVED)) == (2 * 4 * 4) * (6 * 3 * 3)
    assert unfolded_elements(backward(CONVOLVED, IMAGES, FILTERS, (True, True, True))) == (2 * 4 * 4) * (6 * 3 * 3)
    assert unfolded_elements(convolution(IMAGES, f32(8, 6, 1, 1), f32(2, 8, 5, 5))) == 0
    assert unfolded_elements(aten("mm.default", f32(3, 5), f32(5, 7), out=f32(3, 7))) == 0


def test_the_same_as_torch_counts_in_a_training_step():
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.ConvTranspose2d(8, 4, 2, stride=2), torch.nn.Flatten(2),
                                torch.nn.TransformerEncoderLayer(64, 4, 32, dropout=0.0, batch_first=True), torch.nn.Linear(64, 5))

    def step():
        model(torch.ones(2, 3, 4, 4)).sum().backward()

    counter = FlopCounterMode(display=False)
    with counter:
        step()
    calls = recorded_calls(step)
    assert counter.get_total_flops() > 10**6
    assert sum(matrix_flops(call) or 0 for call in calls if "_for_cpu" not in call.op) == counter.get_total_flops()
    # Attention on a CPU is not in torch's registry: 2 x 4 heads, 4 x 4 scores, 16 wide.
    assert [matrix_flops(call) for call in calls if "_for_cpu" in call.op] == [2 * 8 * 4 * 4 * 2 * 16, 2 * 8 * 4 * 4 * 5 * 16]


def test_a_formula_that_the_user_registered():
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import flop_registry, register_flop_formula

    library = torch.library.Library("pardnn_costs_test", "DEF")
    library.define("twice(Tensor a, Tensor b) -> Tensor")
    packet = torch.ops.pardnn_costs_test.twice
    register_flop_formula(packet)(lambda a, b, out_shape=None, **kwargs: 2 * a[0] * b[1] + out_shape[0])
    try:
        from pardnn.costs import OpCall
        assert matrix_flops(OpCall("pardnn_costs_test::twice.default", (f32(3, 4), f32(5, 6)), outputs=(f32(100),))) == 2 * 3 * 6 + 100
    finally:
        del flop_registry[packet]
