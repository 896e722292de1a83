# pardnn_stage(NAME SOURCES a.cpp ... LINKS lib ...): one folder, one target. LINKS may name only stages above it in
# src/CMakeLists.txt. The objects of all stages make up the library `pardnn`.
function(pardnn_stage name)
  cmake_parse_arguments(STAGE "" "" "SOURCES;LINKS" ${ARGN})
  add_library(pardnn_${name} STATIC ${STAGE_SOURCES})
  target_compile_features(pardnn_${name} PUBLIC cxx_std_20)
  target_include_directories(pardnn_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(pardnn_${name} PUBLIC ${STAGE_LINKS} PRIVATE pardnn_warnings)
  set_target_properties(pardnn_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_property(GLOBAL APPEND PROPERTY PARDNN_STAGES pardnn_${name})
endfunction()

# pardnn_test(NAME SOURCES a.cpp ... LINKS lib ...): one GoogleTest binary; ctest sees every test of it.
function(pardnn_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name}_test ${TEST_SOURCES})
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name}_test PRIVATE
    PARDNN_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" PARDNN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name}_test PRIVATE ${TEST_LINKS} GTest::gtest_main pardnn_warnings)
  gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 600)
endfunction()
