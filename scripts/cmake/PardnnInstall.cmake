# The library `pardnn` (pardnn::pardnn), made of the objects of all stages but the command line, and what
# `cmake --install` puts where. Included after src/.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(pardnn_stages GLOBAL PROPERTY PARDNN_STAGES)
list(REMOVE_ITEM pardnn_stages pardnn_cli)

add_library(pardnn)
add_library(pardnn::pardnn ALIAS pardnn)
set(pardnn_outside "")
foreach(stage IN LISTS pardnn_stages)
  target_sources(pardnn PRIVATE $<TARGET_OBJECTS:${stage}>)
  get_target_property(links ${stage} LINK_LIBRARIES)
  list(APPEND pardnn_outside ${links})
endforeach()
list(REMOVE_DUPLICATES pardnn_outside)
list(FILTER pardnn_outside EXCLUDE REGEX "NOTFOUND|nlohmann_json|pardnn_warnings")
list(REMOVE_ITEM pardnn_outside ${pardnn_stages})

# What a stage needs to compile is no business of the library's users; what must be linked is.
foreach(library IN LISTS pardnn_outside)
  if(library MATCHES "^pardnn_(hdf5|xxhash)$")
    target_link_libraries(pardnn PRIVATE $<BUILD_INTERFACE:${library}> $<INSTALL_INTERFACE:pardnn::${CMAKE_MATCH_1}>)
  else()
    target_link_libraries(pardnn PRIVATE ${library})
  endif()
endforeach()
target_link_libraries(pardnn PRIVATE Threads::Threads)
target_compile_features(pardnn PUBLIC cxx_std_20)
target_include_directories(pardnn PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(pardnn PROPERTIES
  LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

install(TARGETS pardnn EXPORT pardnnTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/pardnn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(pardnn_config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/pardnn)
install(EXPORT pardnnTargets NAMESPACE pardnn:: DESTINATION ${pardnn_config_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/pardnnConfig.cmake.in ${PROJECT_BINARY_DIR}/pardnnConfig.cmake
  INSTALL_DESTINATION ${pardnn_config_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pardnnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pardnnConfig.cmake ${PROJECT_BINARY_DIR}/pardnnConfigVersion.cmake
  DESTINATION ${pardnn_config_folder})
