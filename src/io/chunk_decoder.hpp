/// Undoes the usual filters of one storage chunk: none, deflate, shuffle, fletcher32.
///
/// HDF5 itself takes on trust that a chunk is, and comes out of its filters, as long as its dataset says, and reads past the end of the
/// buffer where it is not (1.10.8, found by flipping bytes). Here the length is checked. What scale-offset, n-bit and szip make of a
/// hostile chunk is up to the HDF5 in use.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pardnn::h5 {

/// One filter of a pipeline, in the order in which a writer applies them.
struct ChunkFilter {
  H5Z_filter_t id;
  /// Of shuffle: bytes of one element.
  unsigned element_bytes = 0;
};

/// True if decode_chunk knows all of them.
bool can_decode(std::span<const ChunkFilter> filters);

/// Turns the stored `bytes` of a chunk into its elements, `chunk_bytes` in all. Filters whose bit is set in `skipped` were not applied.
/// Returns what is wrong, or an empty string. Never holds more than a little over twice `chunk_bytes`. O(chunk_bytes).
std::string decode_chunk(std::span<const ChunkFilter> filters, std::uint32_t skipped, std::size_t chunk_bytes, std::vector<unsigned char>& bytes);

}  // namespace pardnn::h5
