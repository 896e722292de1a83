#include "cli/interrupt.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace pardnn::cli {
namespace {

TEST(ReadGuardDeathTest, ACrashIsOneLineThatNamesTheFile) {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) {
    const auto crash = [number] {
      const ReadGuard guard("odd\x1b.h5");
      std::raise(number);
    };
    EXPECT_EXIT(crash(), testing::ExitedWithCode(3), "^pardnn: error: odd.x1b.h5: is damaged: the library that reads it crashed\n$");
  }
}

TEST(ReadGuardDeathTest, AfterwardsACrashIsACrash) {
  const auto crash = [] {
    { const ReadGuard guard("fine.h5"); }
    std::raise(SIGFPE);
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGFPE), "");
}

}  // namespace
}  // namespace pardnn::cli
