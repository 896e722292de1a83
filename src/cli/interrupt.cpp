#include "cli/interrupt.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <unistd.h>

#include <algorithm>

#include "cli/exit_code.hpp"
#include "pardnn/error.hpp"

namespace pardnn::cli {

namespace {

std::atomic<int> caught{0};
std::atomic<bool> saves_work{false}, is_silent{false}, usr1_asks{false}, asked{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

/// Only async-signal-safe calls.
extern "C" void on_signal(int number) {
  if (number == SIGUSR1 && usr1_asks) {
    asked = true;
    return;
  }
  if (saves_work) {
    int none = 0;
    const bool first = caught.compare_exchange_strong(none, number);
    if (first || number != SIGINT) return;
  } else if (!is_silent) {
    constexpr char message[] = "pardnn: stopped by a signal before there was a result: nothing was written\n";
    const ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
    static_cast<void>(ignored);
  }
  _exit(kSignal + number);
}

/// Made ready before anything can crash: nothing may be allocated then.
std::array<char, 1024> crash_line;
std::size_t crash_length = 0;

extern "C" void on_crash(int) {
  const ssize_t ignored = write(STDERR_FILENO, crash_line.data(), crash_length);
  static_cast<void>(ignored);
  _exit(kWrongInput);
}

}  // namespace

ReadGuard::ReadGuard(const std::string& file) {
  const std::string line = "pardnn: error: " + printable(file, 150) + ": is damaged: the library that reads it crashed\n";
  crash_length = std::min(line.size(), crash_line.size());
  std::copy_n(line.begin(), crash_length, crash_line.begin());
  struct sigaction action {};
  action.sa_handler = on_crash;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &action, &before_[i]);
}

ReadGuard::~ReadGuard() {
  for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &before_[i], nullptr);
}

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

void let_usr1_ask_for_result() { usr1_asks = true; }

bool asked_for_result() { return asked.exchange(false); }

void end_silently_on_signals() { is_silent = true; }

void save_work_on_signals() { saves_work = true; }

int caught_signal() { return caught; }

}  // namespace pardnn::cli
