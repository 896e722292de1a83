/// The processes that search together: who this one is, and the few ways in which they talk. What they compute is plain code.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace pardnn {

using ByteBuffer = std::vector<std::byte>;

struct Message {
  int from = 0;
  ByteBuffer bytes;
};

/// One process's view of all. Calls come from the thread that made the object. Failures throw SystemError.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Ranks on this host.
  virtual int host_size() const = 0;
  bool is_first() const { return rank() == 0; }

  /// True on the thread that may talk.
  virtual bool may_talk() const = 0;
  /// Sends to another rank without waiting. Messages from one rank to another arrive in order.
  virtual void send(int to, ByteBuffer bytes) = 0;
  /// The next message that has arrived whole, if any. Does not wait.
  virtual std::optional<Message> receive() = 0;

  /// Collective: everyone gets rank 0's bytes.
  virtual void broadcast(ByteBuffer& bytes) = 0;
  /// Collective over the ranks of this host: the bytes of each, in rank order; all must give the same number.
  virtual std::vector<ByteBuffer> gather_on_host(const ByteBuffer& bytes) = 0;
  /// Collective: one block of memory for each host, shared by its ranks, with what `fill` writes on rank 0; it begins on a page
  /// and lives until finish(). Only rank 0's arguments count.
  virtual std::span<const std::byte> share(std::size_t bytes, const std::function<void(std::span<std::byte>)>& fill) = 0;

  /// Ends the processes of all ranks at once, with this exit code.
  virtual void abort(int code) = 0;
  /// Collective: everything sent has arrived, nothing follows. The last call.
  virtual void finish() = 0;
};

/// A process alone.
class OneRank final : public Ranks {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int host_size() const override { return 1; }
  bool may_talk() const override { return std::this_thread::get_id() == thread_; }
  void send(int, ByteBuffer) override {}
  std::optional<Message> receive() override { return {}; }
  void broadcast(ByteBuffer&) override {}
  std::vector<ByteBuffer> gather_on_host(const ByteBuffer& bytes) override { return {bytes}; }
  std::span<const std::byte> share(std::size_t bytes, const std::function<void(std::span<std::byte>)>& fill) override;
  void abort(int code) override;
  void finish() override {}

 private:
  std::thread::id thread_ = std::this_thread::get_id();
  std::vector<ByteBuffer> blocks_;
};

}  // namespace pardnn
