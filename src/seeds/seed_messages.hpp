/// What ranks tell one another while they explore seeds: all to rank 0, rank 0 to all.
#pragma once

#include <cstdint>
#include <optional>

#include "ranks/ranks.hpp"
#include "seeds/seed_state.hpp"

namespace pardnn {

struct SeedMessage {
  enum class Kind : std::uint8_t {
    seed_done,  ///< to rank 0: seed `number` is done; with `seeded` if it is the best that the sender knows
    caught,     ///< both ways: signal `number` was caught, the run ends
    write_now,  ///< to rank 0: somebody asks for the best so far
    enough,     ///< from rank 0: seeds above `number` cannot be better than one that is there
    finished,   ///< to rank 0: the sender explores no more; with `seeded` if a seed was cut short
    over,       ///< from rank 0: all have finished
  };
  Kind kind = Kind::over;
  std::int64_t number = 0;
  std::optional<Seeded> seeded;
};

ByteBuffer to_bytes(const SeedMessage& message);
SeedMessage seed_message(const ByteBuffer& bytes);

}  // namespace pardnn
