#include "mpi/mailbox.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "mpi/checked.hpp"
#include "pardnn/error.hpp"

namespace pardnn {

namespace {

constexpr int kLengthTag = 1, kPieceTag = 2;

bool all_done(std::vector<MPI_Request>& requests) {
  int done = 0;
  check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
  return done != 0;
}

/// Calls start(pointer, count, request) for each piece of `bytes`.
template <typename Start>
void in_pieces(ByteBuffer& bytes, std::vector<MPI_Request>& requests, Start start) {
  const std::size_t piece = mpi_piece_bytes();
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    start(bytes.data() + at, static_cast<int>(std::min(piece, bytes.size() - at)), &requests.emplace_back(MPI_REQUEST_NULL));
  }
}

}  // namespace

std::size_t mpi_piece_bytes() {
  static const std::size_t bytes = [] {
    constexpr std::size_t kGreatest = std::size_t{1} << 30;
    const char* text = std::getenv("PARDNN_MPI_CHUNK");
    const unsigned long long asked = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
    return asked == 0 ? kGreatest : std::min<std::size_t>(asked, kGreatest);
  }();
  return bytes;
}

void Mailbox::send(int to, ByteBuffer bytes) {
  Outgoing& message = outgoing_.emplace_back();
  message.bytes = std::move(bytes);
  message.length = message.bytes.size();
  check_mpi(MPI_Isend(&message.length, 1, MPI_UINT64_T, to, kLengthTag, comm_, &message.requests.emplace_back(MPI_REQUEST_NULL)), "MPI_Isend");
  in_pieces(message.bytes, message.requests, [&](std::byte* data, int count, MPI_Request* request) {
    check_mpi(MPI_Isend(data, count, MPI_BYTE, to, kPieceTag, comm_, request), "MPI_Isend");
  });
}

/// Posts the receives of every message whose length has arrived: MPI matches them in the order in which they were sent.
void Mailbox::begin_receiving() {
  while (true) {
    int arrived = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kLengthTag, comm_, &arrived, &status), "MPI_Iprobe");
    if (arrived == 0) return;
    std::uint64_t length = 0;
    check_mpi(MPI_Recv(&length, 1, MPI_UINT64_T, status.MPI_SOURCE, kLengthTag, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
    Incoming& message = incoming_.emplace_back();
    message.message.from = status.MPI_SOURCE;
    message.message.bytes.resize(length);
    in_pieces(message.message.bytes, message.requests, [&](std::byte* data, int count, MPI_Request* request) {
      check_mpi(MPI_Irecv(data, count, MPI_BYTE, message.message.from, kPieceTag, comm_, request), "MPI_Irecv");
    });
  }
}

void Mailbox::forget_sent() {
  std::erase_if(outgoing_, [](Outgoing& message) { return all_done(message.requests); });
}

std::optional<Message> Mailbox::receive() {
  forget_sent();
  begin_receiving();
  for (auto at = incoming_.begin(); at != incoming_.end(); ++at) {
    const auto same = [&](const Incoming& earlier) { return earlier.message.from == at->message.from; };
    if (std::any_of(incoming_.begin(), at, same) || !all_done(at->requests)) continue;
    Message message = std::move(at->message);
    incoming_.erase(at);
    return message;
  }
  return {};
}

}  // namespace pardnn
