#include <cstdlib>
#include <memory>

#include "ranks/ranks.hpp"

namespace pardnn {

std::span<const std::byte> OneRank::share(std::size_t bytes, const std::function<void(std::span<std::byte>)>& fill) {
  // Alignment of a page is a promise of the interface.
  constexpr std::size_t kPage = 4096;
  ByteBuffer& block = blocks_.emplace_back(bytes + kPage);
  void* begin = block.data();
  std::size_t room = block.size();
  std::align(kPage, bytes, begin, room);
  const std::span<std::byte> aligned(static_cast<std::byte*>(begin), bytes);
  fill(aligned);
  return aligned;
}

void OneRank::abort(int code) { std::_Exit(code); }

}  // namespace pardnn
