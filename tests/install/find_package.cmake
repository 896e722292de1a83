# cmake --install into a scratch prefix, then configure, build and run `outside` against that prefix alone.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGV}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD_FOLDER} --prefix ${SCRATCH}/prefix)
set(build ${SCRATCH}/build)
list(JOIN PREFIX_PATH "\\;" more)
run(${CMAKE_COMMAND} -S ${OUTSIDE} -B ${build} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS}
  -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix\\;${more}")
run(${CMAKE_COMMAND} --build ${build})
run(${build}/outside ${GRAPH})

find_program(installed pardnn PATHS ${SCRATCH}/prefix/bin NO_DEFAULT_PATH)
if(NOT installed)
  message(FATAL_ERROR "the executable pardnn was not installed")
endif()
run(${installed} --version)
