#include "seeds/seed_messages.hpp"

#include "ranks/bytes.hpp"

namespace pardnn {

ByteBuffer to_bytes(const SeedMessage& message) {
  ByteWriter out;
  out.put(message.kind);
  out.put(message.number);
  out.put(message.seeded.has_value());
  if (message.seeded) {
    const Candidate& candidate = message.seeded->candidate;
    out.put(message.seeded->index);
    out.put(candidate.score);
    out.put_all(candidate.device);
    out.put_all(candidate.priority);
    out.put_text(candidate.origin);
  }
  return out.take();
}

SeedMessage seed_message(const ByteBuffer& bytes) {
  ByteReader in(bytes);
  SeedMessage message;
  message.kind = in.get<SeedMessage::Kind>();
  message.number = in.get<std::int64_t>();
  if (in.get<bool>()) {
    Seeded& seeded = message.seeded.emplace();
    seeded.index = in.get<std::int64_t>();
    seeded.candidate.score = in.get<Score>();
    seeded.candidate.device = in.get_all<DeviceId>();
    seeded.candidate.priority = in.get_all<std::int64_t>();
    seeded.candidate.origin = in.get_text();
  }
  return message;
}

}  // namespace pardnn
