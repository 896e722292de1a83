#include "cli/interrupt.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <unistd.h>

#include "cli/exit_code.hpp"

namespace pardnn::cli {

namespace {

std::atomic<int> caught{0};
std::atomic<bool> saves_work{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

/// Only async-signal-safe calls.
extern "C" void on_signal(int number) {
  if (saves_work) {
    int none = 0;
    const bool first = caught.compare_exchange_strong(none, number);
    if (first || number != SIGINT) return;
  } else {
    constexpr char message[] = "pardnn: stopped by a signal before there was a result: nothing was written\n";
    const ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
    static_cast<void>(ignored);
  }
  _exit(kSignal + number);
}

}  // namespace

void watch_signals() {
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1}) sigaction(number, &action, nullptr);
  // A file past its size limit is an error of the write, not the end of the process.
  signal(SIGXFSZ, SIG_IGN);
}

void save_work_on_signals() { saves_work = true; }

int caught_signal() { return caught; }

}  // namespace pardnn::cli
