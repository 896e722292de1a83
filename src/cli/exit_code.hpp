/// Exit codes of the command line contract (cli.md).
#pragma once

namespace pardnn::cli {

inline constexpr int kDone = 0;
inline constexpr int kNotFeasible = 2;
inline constexpr int kWrongInput = 3;
inline constexpr int kSystemFailed = 4;
/// Stopped by signal n: kSignal + n.
inline constexpr int kSignal = 128;

}  // namespace pardnn::cli
