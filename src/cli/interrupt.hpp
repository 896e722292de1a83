/// Signals: SIGTERM, SIGINT and SIGUSR1 end a run early, with the best result so far.
#pragma once

namespace pardnn::cli {

/// From now on those signals end the process at once with exit code 128 + n and one line: there is nothing to save yet.
void watch_signals();

/// From now on they are remembered instead: ask `caught_signal`. A second SIGINT still ends the process at once.
void save_work_on_signals();

/// Number of the first signal caught, 0 if none.
int caught_signal();

}  // namespace pardnn::cli
