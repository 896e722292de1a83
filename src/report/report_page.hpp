/// One self-contained HTML page about one placement: no script, font or picture from elsewhere, so that it works from a file and for years.
#pragma once

#include <string>

#include "pardnn/placement.hpp"
#include "report/emulated_run.hpp"
#include "report/rivals.hpp"

namespace pardnn {

/// What the page says in words that only the caller knows.
struct ReportWords {
  std::string title, placement, version, policy, links, headroom;
};

/// The page stays below about 2 MB: `run` is drawn no finer than that allows. Names reach it as JSON in which no '<', '>' or '&' is left, and are put into the page as
/// text, never as markup. O((V + E) log V).
std::string report_page(EmulatedRun& run, const Evaluation& evaluation, const Rivals& rivals, const ReportWords& words);

/// `json` inside a script element: '<', '>' and '&' as \u003c and so on, which only strings can hold. Public for its test.
std::string safe_in_script(const std::string& json);

}  // namespace pardnn
