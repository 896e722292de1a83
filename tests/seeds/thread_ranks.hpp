/// Ranks that are threads of one process: what MPI does, without MPI.
#pragma once

#include <barrier>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ranks/ranks.hpp"

namespace pardnn::test {

/// What the threads share.
struct ThreadWorld {
  explicit ThreadWorld(int ranks) : inbox(static_cast<std::size_t>(ranks)), meeting(ranks) {}
  std::mutex mutex;
  std::vector<std::deque<Message>> inbox;
  std::barrier<> meeting;
  ByteBuffer sent;
  std::vector<ByteBuffer> blocks;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(ThreadWorld& world, int rank) : world_(world), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_.inbox.size()); }
  int host_size() const override { return size(); }
  bool may_talk() const override { return std::this_thread::get_id() == thread_; }
  void send(int to, ByteBuffer bytes) override {
    const std::lock_guard lock(world_.mutex);
    world_.inbox[static_cast<std::size_t>(to)].push_back({rank_, std::move(bytes)});
  }
  std::optional<Message> receive() override {
    const std::lock_guard lock(world_.mutex);
    auto& inbox = world_.inbox[static_cast<std::size_t>(rank_)];
    if (inbox.empty()) return {};
    Message message = std::move(inbox.front());
    inbox.pop_front();
    return message;
  }
  void broadcast(ByteBuffer& bytes) override {
    if (is_first()) world_.sent = bytes;
    world_.meeting.arrive_and_wait();
    bytes = world_.sent;
    world_.meeting.arrive_and_wait();
  }
  std::vector<ByteBuffer> gather_on_host(const ByteBuffer& bytes) override { return {bytes}; }
  std::span<const std::byte> share(std::size_t, const std::function<void(std::span<std::byte>)>&) override { return {}; }
  void abort(int) override {}
  void finish() override {}

 private:
  ThreadWorld& world_;
  int rank_;
  std::thread::id thread_ = std::this_thread::get_id();
};

/// Runs `work` on `size` ranks, each a thread.
inline void on_ranks(int size, const std::function<void(Ranks&)>& work) {
  ThreadWorld world(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&world, &work, rank] {
      ThreadRanks ranks(world, rank);
      work(ranks);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace pardnn::test
