# Sets SHEAF_HAS_OPENGL to 1 or 0, and makes sheaf_epoxy, the library that finds OpenGL's and EGL's functions. The backend
# is left out cleanly where libepoxy or EGL's headers are not found.
set(SHEAF_HAS_OPENGL 0)
if(NOT SHEAF_OPENGL STREQUAL "OFF")
  find_path(SHEAF_EPOXY_INCLUDE epoxy/egl.h)
  find_path(SHEAF_EGL_INCLUDE EGL/egl.h)
  find_library(SHEAF_EPOXY_LIBRARY epoxy)
  mark_as_advanced(SHEAF_EPOXY_INCLUDE SHEAF_EGL_INCLUDE SHEAF_EPOXY_LIBRARY)
  if(SHEAF_EPOXY_INCLUDE AND SHEAF_EGL_INCLUDE AND SHEAF_EPOXY_LIBRARY)
    set(SHEAF_HAS_OPENGL 1)
    add_library(sheaf_epoxy INTERFACE)
    target_include_directories(sheaf_epoxy SYSTEM INTERFACE ${SHEAF_EPOXY_INCLUDE} ${SHEAF_EGL_INCLUDE})
    target_link_libraries(sheaf_epoxy INTERFACE ${SHEAF_EPOXY_LIBRARY})
  elseif(SHEAF_OPENGL STREQUAL "ON")
    message(FATAL_ERROR "SHEAF_OPENGL is ON and libepoxy or the headers of EGL were not found "
      "(Debian's packages libepoxy-dev and libegl-dev)")
  endif()
endif()
message(STATUS "sheaf: OpenGL backend ${SHEAF_HAS_OPENGL}")
