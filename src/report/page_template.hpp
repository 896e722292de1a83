/// page.html, embedded.
#pragma once

#include <string_view>

namespace pardnn {

/// The page before and after its data.
struct PageTemplate {
  std::string_view before, after;
};

PageTemplate page_template();

}  // namespace pardnn
