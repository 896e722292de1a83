/// Messages of any length between two ranks, without waiting: a length, then pieces that fit MPI's 32-bit counts.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "ranks/ranks.hpp"

namespace pardnn {

/// Greatest number of bytes in one call of MPI: 2^30, or less by the environment variable PARDNN_MPI_CHUNK (a knob for tests; A14 of the
/// user reports).
std::size_t mpi_piece_bytes();

class Mailbox {
 public:
  explicit Mailbox(MPI_Comm comm) : comm_(comm) {}

  void send(int to, ByteBuffer bytes);
  std::optional<Message> receive();
  /// True once everything sent has left; receive() moves it on.
  bool has_sent() const { return outgoing_.empty(); }

 private:
  struct Outgoing {
    std::uint64_t length = 0;
    ByteBuffer bytes;
    std::vector<MPI_Request> requests;
  };
  struct Incoming {
    Message message;
    std::vector<MPI_Request> requests;
  };

  void begin_receiving();
  void forget_sent();

  MPI_Comm comm_;
  std::list<Outgoing> outgoing_;
  std::list<Incoming> incoming_;
};

}  // namespace pardnn
