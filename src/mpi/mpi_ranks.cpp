#include "mpi/mpi_ranks.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "mpi/checked.hpp"
#include "mpi/mailbox.hpp"
#include "pardnn/error.hpp"

namespace pardnn {

namespace {

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

/// Makes failures come back as codes, for check_mpi.
void return_errors(MPI_Comm comm) { check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"); }

MPI_Comm split(MPI_Comm comm, int color, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(comm, color, key, &part), "MPI_Comm_split");
  if (part != MPI_COMM_NULL) return_errors(part);
  return part;
}

void barrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
  wait_asleep(request, "MPI_Ibarrier");
}

void broadcast_in(MPI_Comm comm, std::span<std::byte> bytes) {
  const std::size_t piece = mpi_piece_bytes();
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(std::min(piece, bytes.size() - at));
    check_mpi(MPI_Ibcast(bytes.data() + at, count, MPI_BYTE, 0, comm, &request), "MPI_Ibcast");
    wait_asleep(request, "MPI_Ibcast");
  }
}

std::uint64_t broadcast_number(MPI_Comm comm, std::uint64_t number) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibcast(&number, 1, MPI_UINT64_T, 0, comm, &request), "MPI_Ibcast");
  wait_asleep(request, "MPI_Ibcast");
  return number;
}

/// The ranks of this host, rank 0 first. PARDNN_MPI_HOST=n (a knob for tests) takes every n ranks of a host for a host of their own.
MPI_Comm ranks_of_host(MPI_Comm all) {
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank_in(all), MPI_INFO_NULL, &host), "MPI_Comm_split_type");
  return_errors(host);
  const char* text = std::getenv("PARDNN_MPI_HOST");
  const int per_host = text == nullptr ? 0 : std::atoi(text);
  if (per_host <= 0) return host;
  MPI_Comm part = split(host, rank_in(host) / per_host, rank_in(all));
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  return part;
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks()
      : all_([] {
          MPI_Comm comm = MPI_COMM_NULL;
          check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
          return_errors(comm);
          return comm;
        }()),
        rank_(rank_in(all_)),
        size_(size_of(all_)),
        host_(ranks_of_host(all_)),
        leaders_(split(all_, rank_in(host_) == 0 ? 0 : MPI_UNDEFINED, rank_)),
        mailbox_(all_) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int host_size() const override { return size_of(host_); }
  bool may_talk() const override { return std::this_thread::get_id() == thread_; }
  void send(int to, ByteBuffer bytes) override { mailbox_.send(to, std::move(bytes)); }
  std::optional<Message> receive() override { return mailbox_.receive(); }
  void broadcast(ByteBuffer& bytes) override;
  std::vector<ByteBuffer> gather_on_host(const ByteBuffer& bytes) override;
  std::span<const std::byte> share(std::size_t bytes, const std::function<void(std::span<std::byte>)>& fill) override;
  void abort(int code) override;
  void finish() override;

 private:
  std::thread::id thread_ = std::this_thread::get_id();
  MPI_Comm all_;
  int rank_, size_;
  MPI_Comm host_;     ///< the ranks of this host
  MPI_Comm leaders_;  ///< the first rank of each host; null on the others
  Mailbox mailbox_;
  std::vector<MPI_Win> windows_;
};

void MpiRanks::broadcast(ByteBuffer& bytes) {
  bytes.resize(broadcast_number(all_, bytes.size()));
  broadcast_in(all_, bytes);
}

std::vector<ByteBuffer> MpiRanks::gather_on_host(const ByteBuffer& bytes) {
  const int ranks = size_of(host_), count = static_cast<int>(bytes.size());
  ByteBuffer all(bytes.size() * static_cast<std::size_t>(ranks));
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(bytes.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, host_, &request), "MPI_Iallgather");
  wait_asleep(request, "MPI_Iallgather");
  std::vector<ByteBuffer> parts;
  for (int i = 0; i < ranks; ++i) parts.emplace_back(all.begin() + std::ptrdiff_t{count} * i, all.begin() + std::ptrdiff_t{count} * (i + 1));
  return parts;
}

std::span<const std::byte> MpiRanks::share(std::size_t bytes, const std::function<void(std::span<std::byte>)>& fill) {
  constexpr std::size_t kPage = 4096;
  const std::size_t size = broadcast_number(all_, bytes);
  const bool leads = rank_in(host_) == 0;
  MPI_Win window = MPI_WIN_NULL;
  void* base = nullptr;
  // A page more than is needed: MPI promises no alignment.
  const auto own = static_cast<MPI_Aint>(leads ? size + kPage : 0);
  check_mpi(MPI_Win_allocate_shared(own, 1, MPI_INFO_NULL, host_, &base, &window), "MPI_Win_allocate_shared (is there room in /dev/shm?)");
  windows_.push_back(window);
  MPI_Aint window_size = 0;
  int unit = 0;
  check_mpi(MPI_Win_shared_query(window, 0, &window_size, &unit, &base), "MPI_Win_shared_query");
  auto room = static_cast<std::size_t>(window_size);
  // The window may lie differently within its page in each process, but the leader's choice must hold for all: it is sent as an offset.
  void* aligned = base;
  if (leads && std::align(kPage, size, aligned, room) == nullptr) throw SystemError("MPI: the shared window is too small");
  const std::uint64_t offset = broadcast_number(host_, static_cast<std::uint64_t>(static_cast<std::byte*>(aligned) - static_cast<std::byte*>(base)));
  const std::span<std::byte> block(static_cast<std::byte*>(base) + offset, size);

  check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window), "MPI_Win_lock_all");
  if (rank_ == 0) fill(block);
  if (leads) broadcast_in(leaders_, block);
  check_mpi(MPI_Win_sync(window), "MPI_Win_sync");
  barrier(host_);
  check_mpi(MPI_Win_sync(window), "MPI_Win_sync");
  return block;
}

void MpiRanks::abort(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

void MpiRanks::finish() {
  // Nobody waits for a message that nobody takes: late ones are taken and dropped until all are through.
  MPI_Request through = MPI_REQUEST_NULL;
  bool entered = false;
  for (int left = 0; left == 0;) {
    while (mailbox_.receive()) {
    }
    if (!entered && mailbox_.has_sent()) {
      check_mpi(MPI_Ibarrier(all_, &through), "MPI_Ibarrier");
      entered = true;
    }
    if (entered) check_mpi(MPI_Test(&through, &left, MPI_STATUS_IGNORE), "MPI_Ibarrier");
    if (left == 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  for (MPI_Win& window : windows_) {
    check_mpi(MPI_Win_unlock_all(window), "MPI_Win_unlock_all");
    check_mpi(MPI_Win_free(&window), "MPI_Win_free");
  }
  windows_.clear();
  if (leaders_ != MPI_COMM_NULL) check_mpi(MPI_Comm_free(&leaders_), "MPI_Comm_free");
  check_mpi(MPI_Comm_free(&host_), "MPI_Comm_free");
  check_mpi(MPI_Comm_free(&all_), "MPI_Comm_free");
  check_mpi(MPI_Finalize(), "MPI_Finalize");
}

}  // namespace

StartedRanks start_ranks(const Launch& launch) {
  if (!launch.has_mpi) return {std::make_unique<OneRank>(), false};
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
  return_errors(MPI_COMM_WORLD);
  return {std::make_unique<MpiRanks>(), level < MPI_THREAD_FUNNELED};
}

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string version(text, static_cast<std::size_t>(std::max(length, 0)));
  std::replace(version.begin(), version.end(), '\t', ' ');  // MPICH's
  return printable(version.substr(0, version.find_first_of(",\n")), 60);
}

}  // namespace pardnn
