/// Independent steps side by side, their results taken in order: the same outcome for any number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include "parallel/threads.hpp"

namespace pardnn {

/// How many steps may run side by side: as many as there are threads, but on large inputs fewer, since each needs working memory of its
/// own, and on small ones a single one: where steps take microseconds, handing them on costs more than they do, and a busy machine makes
/// each hand-over wait for a time slice. `size`: elements that a step works on, nodes and edges for instance. At least 1. Only speed depends on it.
inline int side_by_side(std::int64_t size) {
  constexpr std::int64_t kElements = 24'000'000;  // of all steps that run at a time
  constexpr std::int64_t kWorthwhile = 5'000;     // of a step
  if (size < kWorthwhile) return 1;
  return static_cast<int>(std::clamp<std::int64_t>(kElements / std::max<std::int64_t>(size, 1), 1, allowed_threads()));
}

/// Calls make(i) for i = 0, 1, ... < steps, on up to `width` threads at a time and each with OpenMP on one thread, and
/// take(i, result) after it, in increasing i and never two at once, on any of these threads. Ends early once take returns false: what was made
/// ahead is dropped. With width 1 all happens on the calling thread, one after the other. Exceptions end it, too.
template <typename Make, typename Take>
void make_in_order(std::int64_t steps, int width, const Make& make, const Take& take) {
  using Result = decltype(make(std::int64_t{0}));
  if (width <= 1 || steps <= 1) {
    for (std::int64_t i = 0; i < steps; ++i) {
      if (!take(i, make(i))) return;
    }
    return;
  }
  using Made = std::pair<std::int64_t, std::shared_ptr<Result>>;
  std::int64_t next = 0;
  std::atomic<bool> over = false;
  const auto first = tbb::make_filter<void, std::int64_t>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
    if (over || next == steps) {
      control.stop();
      return std::int64_t{0};
    }
    return next++;
  });
  const auto middle = tbb::make_filter<std::int64_t, Made>(tbb::filter_mode::parallel, [&](std::int64_t i) {
    const OneOpenMpThread one;
    return over ? Made{i, nullptr} : Made{i, std::make_shared<Result>(make(i))};
  });
  const auto last = tbb::make_filter<Made, void>(tbb::filter_mode::serial_in_order, [&](const Made& made) {
    if (!over && !take(made.first, std::move(*made.second))) over = true;
  });
  const auto run = [&] { tbb::parallel_pipeline(static_cast<std::size_t>(2 * width), first & middle & last); };
  // An arena costs time and, until the scheduler tidies up, memory: only where it is to hold fewer threads than there are.
  if (width >= allowed_threads()) return run();
  tbb::task_arena arena(width);
  arena.execute(run);
}

/// Working objects that one thread at a time may use, made when they are needed and kept until the end.
template <typename T>
class Spares {
 public:
  /// One of them, until it goes out of scope.
  class Lease {
   public:
    Lease(Spares& owner, std::unique_ptr<T> lent) : owner_(owner), lent_(std::move(lent)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { owner_.give_back(std::move(lent_)); }
    T& operator*() const { return *lent_; }
    T* operator->() const { return lent_.get(); }

   private:
    Spares& owner_;
    std::unique_ptr<T> lent_;
  };

  /// `create()` gives a new one, as std::unique_ptr<T>.
  template <typename Create>
  [[nodiscard]] Lease lend(const Create& create) {
    {
      const std::scoped_lock lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<T> one = std::move(free_.back());
        free_.pop_back();
        return {*this, std::move(one)};
      }
    }
    return {*this, create()};
  }

 private:
  void give_back(std::unique_ptr<T> one) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(one));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace pardnn
