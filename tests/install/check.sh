#!/bin/bash
# check.sh STAGE: one way of using sheaf from outside, run by ctest; see CMakeLists.txt beside this file for what it
# sets. Exits 77 where the machine lacks what the stage needs.
set -eu
here=$(dirname "$0")
prefix=$WORK/prefix
moved=$WORK/moved-prefix  # the installed tree, moved: nothing may depend on where it was installed first

fail() { echo "$*" >&2; exit 1; }

# consume NAME CMAKE-ARGUMENT...: builds the consumer project afresh and runs it.
consume() {
  local build=$WORK/$1; shift
  rm -rf "$build"
  "$CMAKE" -S "$here/consumer" -B "$build" -G "$GENERATOR" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_BUILD_TYPE=Release "$@"
  "$CMAKE" --build "$build"
  "$build/consumer" "$VERSION"
}

# links_shared PROGRAM: whether it loads libsheaf.so.
links_shared() { readelf -d "$1" | grep -q 'NEEDED.*libsheaf\.so'; }

case $1 in
  install)
    rm -rf "$prefix" "$moved"
    "$CMAKE" --install "$BUILD" --prefix "$prefix" >"$WORK/install.log"
    mv "$prefix" "$moved"
    for file in bin/sheaf "$LIBDIR/libsheaf.a" "$LIBDIR/libsheaf.so" include/sheaf/sheaf.hpp include/sheaf/version.hpp \
      include/sheaf/interop/cuda.hpp include/sheaf/interop/opengl.hpp share/sheaf/profiles/generic-cpu.json \
      share/man/man1/sheaf.1 share/man/man1/sheaf-sort.1 share/bash-completion/completions/sheaf \
      share/zsh/site-functions/_sheaf share/fish/vendor_completions.d/sheaf.fish share/doc/sheaf/README.md share/doc/sheaf/docs/command.md share/doc/sheaf/docs/library.md \
      "$LIBDIR/pkgconfig/sheaf.pc" "$LIBDIR/cmake/sheaf/sheafConfig.cmake"; do
      [ -f "$moved/$file" ] || fail "$file is not installed"
    done
    strays=$(cd "$moved" && find . -name '*.in' -o -name '*.cpp' -o -path './include/*' -type f ! -path './include/sheaf/*')
    [ -z "$strays" ] || fail "installed without need: $strays"
    ! grep -rIlF -e "$SOURCE" -e "$BUILD" "$moved" || fail "the files above name the folder that sheaf was built in"
    "$moved/bin/sheaf" version | grep -F "$VERSION" || fail "the installed command is not $VERSION"
    ;;
  find_package_static)
    consume "$1" -DCMAKE_PREFIX_PATH="$moved" -DCONSUMER_COMPONENTS=static
    ! links_shared "$WORK/$1/consumer" || fail "linked with libsheaf.so"
    ;;
  find_package_shared)
    consume "$1" -DCMAKE_PREFIX_PATH="$moved" -DCONSUMER_COMPONENTS=shared
    links_shared "$WORK/$1/consumer" || fail "not linked with libsheaf.so"
    ;;
  find_package_default)
    consume "$1" -DCMAKE_PREFIX_PATH="$moved" -DBUILD_SHARED_LIBS=ON
    links_shared "$WORK/$1/consumer" || fail "not linked with libsheaf.so under BUILD_SHARED_LIBS=ON"
    consume "$1" -DCMAKE_PREFIX_PATH="$moved"
    ! links_shared "$WORK/$1/consumer" || fail "linked with libsheaf.so without BUILD_SHARED_LIBS"
    ;;
  find_package_version)
    rm -rf "${WORK:?}/$1"
    ! said=$("$CMAKE" -S "$here/consumer" -B "$WORK/$1" -G "$GENERATOR" -DCMAKE_CXX_COMPILER="$CXX" \
      -DCMAKE_PREFIX_PATH="$moved" -DCONSUMER_VERSION=0.999 2>&1) || fail "version 0.999 was found"
    grep -q "sheafConfig.cmake, version: $VERSION" <<<"$said" || fail "refused for another reason: $said"
    ;;
  pkg_config_shared | pkg_config_static)
    command -v pkg-config >/dev/null || { echo "no pkg-config here"; exit 77; }
    export PKG_CONFIG_PATH=$moved/$LIBDIR/pkgconfig
    package=sheaf
    [ "$1" = pkg_config_shared ] || package=sheaf-static
    [ "$(pkg-config --modversion $package)" = "$VERSION" ] || fail "pkg-config knows another version"
    # shellcheck disable=SC2046  # the flags are words
    "$CXX" -std=c++20 "$here/consumer/main.cpp" -o "$WORK/$1" $(pkg-config --cflags --libs $package)
    if [ $package = sheaf ]; then links_shared "$WORK/$1"; else ! links_shared "$WORK/$1"; fi || fail "linked the other kind"
    LD_LIBRARY_PATH=$moved/$LIBDIR "$WORK/$1" "$VERSION"
    ;;
  headers)
    # Each public header by itself, nothing but the installed include folder in reach; only interop and sheaf/cuda may
    # ask for a toolkit.
    cd "$moved/include"
    find sheaf -name '*.hpp' ! -path 'sheaf/interop/*' ! -path 'sheaf/cuda/*' | sort >"$WORK/headers.txt"
    [ -s "$WORK/headers.txt" ] || fail "no public headers"
    compile=("$CXX" -std=c++20 -Wall -Wextra -Wpedantic -Werror -I. -x c++)
    while read -r header; do
      twice=$(printf '#include <%s>\n#include <%s>\n' "$header" "$header")
      "${compile[@]}" -fsyntax-only - <<<"$twice" || fail "$header does not stand alone"
      reached=$("${compile[@]}" -M - <<<"$twice" | tr ' ' '\n' | grep -E -i 'cuda|/GL/|EGL|/fmt/|nlohmann|omp\.h' || true)
      [ -z "$reached" ] || fail "$header reaches $reached"
    done <"$WORK/headers.txt"
    echo "$(wc -l <"$WORK/headers.txt") headers"
    ;;
  cuda_operator | cuda_edge_function)
    # A device functor of the user's, instantiated by the user's compiler from the installed headers.
    [ -n "$NVCC" ] || { echo "built without CUDA"; exit 77; }
    source=list_scan.cu
    [ "$1" = cuda_operator ] || source=edge_sum.cu
    # shellcheck disable=SC2086  # the flags are words
    "$NVCC" -std=c++20 -arch=sm_90 -I"$moved/include" "$here/consumer_cuda/$source" -o "$WORK/$1" \
      "$moved/$LIBDIR/libsheaf.a" -Xcompiler -fopenmp -lgomp -ldl $STATIC_LIBRARIES || fail "does not compile"
    "$WORK/$1"
    ;;
  mpich | openmpi)
    # A program with processes of this MPI, and the installed command on two of them.
    [ -f "$moved/$LIBDIR/libsheaf_$1.so" ] || { echo "built without $1"; exit 77; }
    for program in "mpicxx.$1" "mpiexec.$1"; do
      command -v "$program" >/dev/null || { echo "no $program here"; exit 77; }
    done
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
    start=("mpiexec.$1" -n 2)
    [ "$1" = mpich ] || start=("mpiexec.$1" --oversubscribe -n 2)
    for kind in static shared; do
      build=$WORK/$1-$kind
      rm -rf "$build"
      shared=OFF
      [ $kind = static ] || shared=ON
      "$CMAKE" -S "$here/consumer_mpi" -B "$build" -G "$GENERATOR" -DCMAKE_CXX_COMPILER="$CXX" \
        -DMPI_CXX_COMPILER="mpicxx.$1" -DCMAKE_PREFIX_PATH="$moved" -DCONSUMER_MPI="$1" -DBUILD_SHARED_LIBS=$shared
      "$CMAKE" --build "$build"
      "${start[@]}" "$build/consumer_mpi" || fail "the program of $kind sheaf and $1 failed"
    done
    cd "$WORK"
    printf 'dbacdacb%.0s' {1..500} >letters.bin
    rm -f "alone-$1.bin" "together-$1.bin"
    "$moved/bin/sheaf" sort letters.bin --record-bytes 2 --key 1:1 -o "alone-$1.bin"
    said=$("${start[@]}" "$moved/bin/sheaf" sort letters.bin --record-bytes 2 --key 1:1 -o "together-$1.bin")
    [[ $said = *"on 2 processes"* ]] || fail "the installed command did not run on two processes: $said"
    cmp "alone-$1.bin" "together-$1.bin" || fail "the installed command writes something else on two processes"
    ;;
  exports)
    # What the shared library defines for others: its own names, and what the compiler emits for inline functions.
    others=$(nm -D -C --defined-only "$moved/$LIBDIR/libsheaf.so" | awk '$2 ~ /[TDBR]/' |
      grep -v -E ' (typeinfo( name)? for |vtable for |guard variable for )?(non-virtual thunk to )?sheaf::' || true)
    [ -z "$others" ] || fail "libsheaf.so exports $others"
    ;;
  subdirectory)
    # Compiled as fast as the compiler can: what is looked at is what gets built and linked.
    consume "$1" -DCONSUMER_SUBDIRECTORY="$SOURCE" -DSHEAF_CUDA=OFF -DCMAKE_BUILD_TYPE=Debug \
      -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DSHEAF_UNITY_BUILD=ON -DSHEAF_UNITY_KERNELS=ON
    [ ! -e "$WORK/$1/sheaf/bin/sheaf" ] || fail "the command was built too"
    ;;
  *) fail "check.sh: no stage '$1'" ;;
esac
