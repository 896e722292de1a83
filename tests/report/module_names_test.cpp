#include "report/module_names.hpp"

#include <gtest/gtest.h>

namespace pardnn {
namespace {

TEST(ModuleNames, OfACapturedNode) {
  EXPECT_EQ(phase_of("grad/h0.attn.mm_1"), Phase::backward);
  EXPECT_EQ(phase_of("opt/h0.attn.weight.add__0"), Phase::update);
  EXPECT_EQ(phase_of("h0.attn.mm_0"), Phase::forward);
  EXPECT_EQ(module_of("grad/h0.attn.mm_1"), "grad/h0.attn.");
  EXPECT_EQ(module_prefix("grad/h0.attn.mm_1", 1), "grad/h0");
  EXPECT_EQ(module_prefix("h0.attn.mm_1", 1), "h0");
  EXPECT_EQ(module_prefix("grad/h0.attn.mm_1", 2), "grad/h0.attn");
  EXPECT_EQ(module_prefix("grad/h0.attn.mm_1", 9), "grad/h0.attn");
  EXPECT_EQ(layer_of("grad/h0.attn.mm_1"), "h0");
  EXPECT_EQ(layer_of("h0.attn.mm_0"), "h0");
}

TEST(ModuleNames, OfOneComponent) {
  EXPECT_EQ(phase_of("grad"), Phase::forward) << "a node of that name is no prefix";
  EXPECT_EQ(module_of("wte"), "");
  EXPECT_EQ(module_prefix("wte", 3), "wte");
  EXPECT_EQ(layer_of("wte"), "wte");
  EXPECT_EQ(layer_of("17"), "17");
  EXPECT_EQ(layer_of("grad/x"), "x");
  EXPECT_EQ(layer_of("grad/"), "");
}

TEST(ModuleNames, RangesStandInForThem) {
  EXPECT_EQ(range_of(0, 1), "nodes 0 to 0");
  EXPECT_EQ(range_of(99, 6400), "nodes 0 to 99");
  EXPECT_EQ(range_of(100, 6400), "nodes 100 to 199");
  EXPECT_EQ(range_of(64, 65), "nodes 64 to 64");
}

}  // namespace
}  // namespace pardnn
