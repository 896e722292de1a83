"""Which operations are known, and what each kind of them does to memory. Names are those of :func:`op_names.op_name`."""

from __future__ import annotations

import sys
from enum import Enum, auto
from functools import lru_cache

from .op_names import OpName


class Kind(Enum):
    """How an operation without matrix products goes about memory."""

    STREAM = auto()  # reads each input and writes each output once
    CREATE = auto()  # writes its outputs; what its inputs hold doesn't matter
    RESERVE = auto()  # memory is taken, not written
    GATHER = auto()  # reads of its first input only what goes into the outputs
    SCATTER = auto()  # adds or writes rows into its first input, or a copy of it
    TABLE_GRADIENT = auto()  # zeroes a table, then adds rows into it
    NORMALIZE = auto()  # reads its inputs twice: once for the statistics, once for the values
    NORMALIZE_BACKWARD = auto()  # reads the gradient twice
    SORT = auto()  # radix sort: reads and writes several times


_STREAM = """
_fft_c2c _fft_c2r _fft_r2c adaptive_avg_pool1d
__and__ __lshift__ __or__ __rshift__ __xor__ _amp_foreach_non_finite_check_and_unscale _amp_update_scale _fused_adagrad _fused_adam
_fused_adamw _fused_dropout _fused_rms_norm _fused_rms_norm_backward _fused_sgd _masked_scale _thnn_fused_gru_cell
_thnn_fused_gru_cell_backward _thnn_fused_lstm_cell _thnn_fused_lstm_cell_backward _thnn_fused_lstm_cell_backward_impl abs absolute
accumulate_n_v2 acos acosh add add_n addcdiv addcmul and angle asin asinh atan atan2 atanh batch_norm_backward_elemt batch_norm_elemt
bias_add bias_add_grad binary_cross_entropy binary_cross_entropy_backward binary_cross_entropy_with_logits bitwise_and bitwise_left_shift
bitwise_not bitwise_or bitwise_right_shift bitwise_xor cast ceil celu clamp clamp_max clamp_min clip complex conj_physical
convert_element_type copysign cos cosh cross deg2rad detach_copy digamma div divide dropout elu elu_backward eq equal erf erfc erfinv exp
exp2 expm1 fake_quantize floor floor_divide fmax fmin fmod frac ge gelu gelu_backward glu glu_backward greater greater_equal gt hardshrink
hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh hardtanh_backward heaviside huber_loss huber_loss_backward hypot i0
igamma imag integer_pow isfinite isinf isnan isneginf isposinf ldexp le leaky_relu leaky_relu_backward leaky_relu_grad lerp less
less_equal lgamma lift log log10 log1p log2 log_sigmoid log_sigmoid_backward log_sigmoid_forward logaddexp logaddexp2 logical_and
logical_not logical_or logical_xor logistic logit lt masked_fill max_elementwise max_min maximum minimum mish mish_backward mse_loss
mse_loss_backward mul mul_no_nan multiply nan_to_num native_batch_norm_elemt native_dropout native_dropout_backward ne neg negative
nextafter not not_equal or polar polygamma pow prelu real real_div reciprocal reciprocal_grad relu relu6 relu6_grad relu_grad remainder
renorm round rrelu_with_noise rrelu_with_noise_backward rsqrt rsqrt_grad rsub select select_n select_v2 selu sgn sigmoid sigmoid_backward
sigmoid_grad sign signbit silu silu_backward sin sinc sinh smooth_l1_loss smooth_l1_loss_backward softplus softplus_backward softplus_grad
softshrink softshrink_backward softsign sqrt sqrt_grad square squared_difference stop_gradient sub subtract tan tanh tanh_backward
tanh_grad threshold threshold_backward truediv trunc view_as_real_copy where xlogy xor

_cdist_backward _cdist_forward _linalg_det _local_scalar_dense _pdist_forward all amax amin aminmax any argmax argmax_grad argmin bincount
count_nonzero cumlogsumexp cummax cummin cumprod cumsum cumulative_logsumexp dist frobenius_norm global_average_pool global_max_pool histc
item kl_div l1_loss l2_loss linalg_vector_norm logcumsumexp logsumexp masked_softmax max mean median min nansum nll_loss
nll_loss2d_backward nll_loss2d_forward nll_loss_backward nll_loss_forward norm prod reduce reduce_all reduce_and reduce_any reduce_l1
reduce_l2 reduce_log_sum reduce_log_sum_exp reduce_max reduce_mean reduce_min reduce_or reduce_precision reduce_prod reduce_sum
reduce_sum_square reduce_window_max reduce_window_sum softmax_cross_entropy_loss softmax_cross_entropy_with_logits
sparse_softmax_cross_entropy_with_logits square_sum std std_mean sum trace var var_mean

_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward _upsample_bilinear2d_aa
adaptive_avg_pool2d adaptive_max_pool2d adaptive_max_pool2d_backward average_pool avg_pool avg_pool1d avg_pool2d avg_pool2d_backward
avg_pool3d avg_pool3d_backward avg_pool_grad channel_shuffle col2im grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d
grid_sampler_3d_backward im2col lrn max_pool max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices
max_pool3d_with_indices_backward max_pool_grad pixel_shuffle pixel_unshuffle resize resize_bilinear resize_nearest_neighbor
upsample_bicubic2d upsample_bicubic2d_backward upsample_bilinear2d upsample_bilinear2d_backward upsample_linear1d
upsample_linear1d_backward upsample_nearest1d upsample_nearest1d_backward upsample_nearest2d upsample_nearest2d_backward
upsample_nearest3d upsample_nearest3d_backward upsample_trilinear3d upsample_trilinear3d_backward

_chunk_cat _conj_physical _reshape_copy _softmax_grad _to_copy _weight_norm_interface _weight_norm_interface_backward add_any alias
apply_adagrad apply_adam apply_gradient_descent apply_momentum apply_rms_prop as_strided_scatter assign assign_add assign_add_variable_op
assign_sub assign_sub_variable_op assign_variable_op batch_to_space_nd bit_shift bitcast_convert_type broadcast broadcast_in_dim
broadcast_to cat cbrt clip_by_value clone clz concat concat_v concatenate constant_pad_nd contiguous copy copy_p cum_sum depth_to_space
dequantize_linear detach device_put diagonal_backward diagonal_scatter div_no_nan dynamic_stitch dynamic_update_slice erf_inv expand
expand_copy expand_dims flatten flip floor_div floor_mod identity identity_n invert_permutation is_finite is_inf is_na_n is_nan
lift_fresh_copy log_sum_exp masked_scatter_backward matrix_band_part matrix_diag_part mirror_pad mirror_pad_grad mod moving_average narrow
p_relu pack pad permute permute_copy pin_memory population_count prevent_gradient quantize_linear read_variable_op reflection_pad1d
reflection_pad1d_backward reflection_pad2d reflection_pad2d_backward reflection_pad3d rem repeat replication_pad1d replication_pad2d
replication_pad2d_backward replication_pad3d reshape reshape_copy resource_apply_adagrad resource_apply_adam
resource_apply_gradient_descent resource_apply_momentum resource_apply_rms_prop rev reverse reverse_sequence roi_align roll rot90
select_backward select_copy select_scatter shift_left shift_right_arithmetic shift_right_logical slice_backward slice_copy slice_scatter
space_to_batch_nd space_to_depth split split_copy split_v split_with_sizes_copy squeeze squeeze_copy squeeze_dims stack strided_slice_grad
tile to transpose transpose_copy tril trilu triu unbind unbind_copy unfold_backward unpack unsqueeze unsqueeze_copy unstack view view_copy
xdivy
"""

_CREATE = """
arange bernoulli cauchy complex_linspace const constant constant_fill constant_of_shape exponential eye eye_like fill full full_like
geometric hamming_window hann_window iota linspace log_normal logspace multinomial new_full new_ones new_zeros normal normal_functional
one_hot ones ones_like rand rand_like randint randint_like randn randn_like random random_binomial random_bits random_normal
random_normal_like random_seed random_standard_normal random_uniform random_uniform_int random_uniform_like random_unwrap random_wrap
randperm range scalar_tensor stateless_random_normal stateless_random_uniform threefry2x32 tril_indices triu_indices truncated_normal
uniform zero zeros zeros_like
"""

_RESERVE = """
_assert_async _assert_tensor_metadata assert broadcast_gradient_args check_numerics empty empty_like empty_permuted empty_strided
new_empty new_empty_strided no_op placeholder placeholder_with_default rank shape shape_n size sym_constrain_range sym_numel
sym_size var_handle_op variable variable_v
"""

_GATHER = """
_embedding_bag _embedding_bag_forward_only _unsafe_index _unsafe_masked_index dynamic_slice embedding embedding_bag gather gather_elements
gather_nd index index_select masked_select nonzero_gather resource_gather slice strided_slice take take_along_dim
"""

_SCATTER = """
_index_put_impl _unsafe_index_put _unsafe_masked_index_put_accumulate index_add index_copy index_fill index_put index_reduce
masked_scatter put resource_scatter_add resource_scatter_update scatter scatter_add scatter_elements scatter_max scatter_min scatter_mul
scatter_nd scatter_nd_update scatter_reduce scatter_sub scatter_update tensor_scatter_add tensor_scatter_update
"""

_TABLE_GRADIENT = """
_embedding_bag_dense_backward embedding_backward embedding_dense_backward segment_sum unsorted_segment_sum
"""

_NORMALIZE = """
_batch_norm_no_update _batch_norm_with_update _log_softmax _native_batch_norm_legit _native_batch_norm_legit_functional
_native_batch_norm_legit_no_training _safe_softmax _softmax batch_norm batch_norm_stats batch_normalization cudnn_batch_norm
fused_batch_norm group_norm group_normalization instance_norm instance_normalization layer_norm layer_normalization log_softmax
lp_normalization mean_variance_normalization miopen_batch_norm native_batch_norm native_group_norm native_layer_norm rms_norm
rms_normalization skip_layer_normalization softmax
"""

_NORMALIZE_BACKWARD = """
_log_softmax_backward_data _softmax_backward_data batch_norm_backward batch_norm_backward_reduce cudnn_batch_norm_backward
fused_batch_norm_grad log_softmax_grad native_batch_norm_backward native_group_norm_backward native_layer_norm_backward softmax_grad
"""

_SORT = """
_unique _unique2 argsort bucketize histogram kthvalue mode msort non_max_suppression non_zero nonzero searchsorted sort top_k topk unique
unique_consecutive unique_dim where_indices
"""

_KINDS: dict[str, Kind] = {
    name: kind
    for kind, names in ((Kind.STREAM, _STREAM), (Kind.CREATE, _CREATE), (Kind.RESERVE, _RESERVE), (Kind.GATHER, _GATHER), (Kind.SCATTER, _SCATTER),
                        (Kind.TABLE_GRADIENT, _TABLE_GRADIENT), (Kind.NORMALIZE, _NORMALIZE), (Kind.NORMALIZE_BACKWARD, _NORMALIZE_BACKWARD),
                        (Kind.SORT, _SORT))
    for name in names.split()
}


@lru_cache(maxsize=8192)
def op_kind(name: OpName) -> Kind | None:
    """What the operation does to memory, or None where it is unknown. Operations that torch itself calls pointwise stream."""
    base = name.base.removeprefix("_foreach_")
    if base in _KINDS:
        return _KINDS[base]
    return Kind.STREAM if _pointwise(name) else None


def _pointwise(name: OpName) -> bool:
    torch = sys.modules.get("torch")
    if torch is None or name.namespace not in ("aten", "prims"):
        return False
    packet = getattr(getattr(torch.ops, name.namespace), name.base + "_" * name.inplace, None)
    overload = getattr(packet, name.overload or "default", None)
    return overload is not None and torch.Tag.pointwise in overload.tags
