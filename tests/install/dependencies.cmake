# Configures pardnn with dependencies in an odd prefix, and without each of them.
# configure(RESULT OUTPUT ARGUMENT...)
function(configure result output)
  file(REMOVE_RECURSE ${SCRATCH}/build)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/build -G ${GENERATOR} -DCMAKE_C_COMPILER=${C_COMPILER}
      -DCMAKE_CXX_COMPILER=${COMPILER} -DPARDNN_TESTS=OFF ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${result} ${status} PARENT_SCOPE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# An odd prefix: the files of HDF5 and xxHash that this build uses, under other names of folders.
file(REMOVE_RECURSE ${SCRATCH})
set(prefix "${SCRATCH}/odd prefix")
file(MAKE_DIRECTORY "${prefix}/include" "${prefix}/lib")
foreach(folder IN LISTS HDF5_INCLUDE)
  file(GLOB headers "${folder}/H5*.h" "${folder}/hdf5.h")
  foreach(header IN LISTS headers)
    get_filename_component(name "${header}" NAME)
    file(CREATE_LINK "${header}" "${prefix}/include/${name}" SYMBOLIC)
  endforeach()
endforeach()
file(CREATE_LINK "${XXHASH_INCLUDE}/xxhash.h" "${prefix}/include/xxhash.h" SYMBOLIC)
file(CREATE_LINK "${XXHASH_LIBRARY}" "${prefix}/lib/libxxhash.so" SYMBOLIC)
file(CREATE_LINK "${HDF5_LIBRARY}" "${prefix}/lib/libhdf5.so" SYMBOLIC)

configure(status text "-DCMAKE_PREFIX_PATH=${prefix}")
file(STRINGS ${SCRATCH}/build/CMakeCache.txt chosen REGEX "^XXHASH_LIBRARY:")
if(NOT status EQUAL 0 OR NOT chosen MATCHES "odd prefix")
  message(FATAL_ERROR "CMAKE_PREFIX_PATH: ${chosen}\n${text}")
endif()
configure(status text "-Dxxhash_ROOT=${prefix}" "-DHDF5_ROOT=${prefix}" -DHDF5_NO_FIND_PACKAGE_CONFIG_FILE=ON)
file(STRINGS ${SCRATCH}/build/CMakeCache.txt chosen REGEX "^XXHASH_LIBRARY:")
if(NOT status EQUAL 0 OR NOT chosen MATCHES "odd prefix" OR NOT text MATCHES "serial: [^\n]*odd prefix")
  message(FATAL_ERROR "*_ROOT: ${chosen}\n${text}")
endif()

# What is missing is named with the variable to set.
foreach(package IN ITEMS TBB HDF5 ZLIB fmt nlohmann_json CLI11)
  configure(status text -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
  string(REGEX REPLACE "[ \n]+" " " line "${text}")
  if(status EQUAL 0 OR NOT line MATCHES "pardnn needs [^.]*(${package}|oneTBB)[^.]*: install [a-z0-9-]+ or set [^ ]*${package}_ROOT")
    message(FATAL_ERROR "without ${package}: exit ${status}\n${text}")
  endif()
endforeach()

# An optional one that is missing shows in --version, whose text is made here.
configure(status text -DMETIS_INCLUDE_DIR= -DMETIS_LIBRARY=)
file(GLOB_RECURSE version ${SCRATCH}/build/version.cpp)
file(READ "${version}" text)
if(NOT text MATCHES "METIS +no")
  message(FATAL_ERROR "--version does not tell that METIS is missing:\n${text}")
endif()
file(REMOVE_RECURSE ${SCRATCH})
