#include "construct/gap_list.hpp"

#include <algorithm>
#include <cstdint>

namespace pardnn {
namespace {

constexpr Nanoseconds kForever = INT64_MAX;

}  // namespace

GapList::GapList() {
  chunks_.push_back({{{0, kForever}}, kForever});
  refresh_blocks();
}

std::size_t GapList::chunk_of(Nanoseconds t) const {
  const auto it = std::partition_point(chunks_.begin(), chunks_.end(),
                                       [t](const Chunk& chunk) { return chunk.gaps.back().to < t; });
  return static_cast<std::size_t>(it - chunks_.begin());
}

Nanoseconds GapList::earliest(Nanoseconds ready, Nanoseconds duration) const {
  if (ready >= tail_) return ready;
  std::size_t c = chunk_of(ready);
  while (c < chunks_.size()) {
    if (c % kChunk == 0 && longest_in_block_[c / kChunk] < duration) {
      c += kChunk;
      continue;
    }
    if (chunks_[c].longest >= duration) {
      for (const Gap& gap : chunks_[c].gaps) {
        const Nanoseconds start = std::max(gap.from, ready);
        if (start <= gap.to && gap.to - start >= duration) return start;
      }
    }
    ++c;
  }
  return std::max(tail_, ready);
}

void GapList::refresh(std::size_t chunk) {
  Nanoseconds longest = 0;
  for (const Gap& gap : chunks_[chunk].gaps) longest = std::max(longest, gap.length());
  if (longest == chunks_[chunk].longest) return;
  chunks_[chunk].longest = longest;
  Nanoseconds& block = longest_in_block_[chunk / kChunk];
  const std::size_t first = chunk / kChunk * kChunk, end = std::min(first + kChunk, chunks_.size());
  block = 0;
  for (std::size_t c = first; c < end; ++c) block = std::max(block, chunks_[c].longest);
}

void GapList::refresh_blocks() {
  longest_in_block_.assign((chunks_.size() + kChunk - 1) / kChunk, 0);
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    longest_in_block_[c / kChunk] = std::max(longest_in_block_[c / kChunk], chunks_[c].longest);
  }
}

void GapList::split(std::size_t chunk) {
  std::vector<Gap>& gaps = chunks_[chunk].gaps;
  Chunk upper;
  upper.gaps.assign(gaps.begin() + kChunk / 2, gaps.end());
  gaps.resize(kChunk / 2);
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(chunk) + 1, std::move(upper));
  for (const std::size_t c : {chunk, chunk + 1}) {
    chunks_[c].longest = 0;
    for (const Gap& gap : chunks_[c].gaps) chunks_[c].longest = std::max(chunks_[c].longest, gap.length());
  }
  refresh_blocks();
}

void GapList::occupy(Nanoseconds start, Nanoseconds duration) {
  if (duration == 0) return;
  const Nanoseconds end = start + duration;
  std::size_t c = chunk_of(end);
  std::vector<Gap>& gaps = chunks_[c].gaps;
  const auto it = std::partition_point(gaps.begin(), gaps.end(), [end](const Gap& gap) { return gap.to < end; });
  const Gap rest{end, it->to};
  it->to = start;
  gaps.insert(it + 1, rest);
  tail_ = std::max(tail_, end);
  if (gaps.size() > kChunk) {
    split(c);
  } else {
    refresh(c);
  }
}

}  // namespace pardnn
