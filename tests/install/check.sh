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

# start_with MPI: `start` becomes what starts two processes of it.
start_with() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
  start=("mpiexec.$1" -n 2)
  [ "$1" = mpich ] || start=("mpiexec.$1" --oversubscribe -n 2)
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
    start_with "$1"
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
  packages)
    # Debian's packages and the archive, as cpack makes them of this build: what is in which, on what each depends, that
    # they have the same bytes when they are made again, and a program that is compiled against the unpacked packages.
    # The packages of a release are compressed by xz, which takes ten times as long.
    for program in dpkg dpkg-deb dpkg-shlibdeps file; do
      command -v $program >/dev/null || { echo "no $program here"; exit 77; }
    done
    out=$WORK/packages root=$WORK/packages/root
    rm -rf "$out"
    export SOURCE_DATE_EPOCH=1700000000
    # pack FOLDER GENERATORS ARGUMENT...
    pack() {
      "$CPACK" --config "$BUILD/CPackConfig.cmake" -B "$out/$1" -G "$2" -D CPACK_DEBIAN_COMPRESSION_TYPE=zstd "${@:3}" \
        >"$WORK/cpack.log" 2>&1 || { cat "$WORK/cpack.log"; fail "cpack failed"; }
      rm -rf "$out/$1/_CPack_Packages"
    }
    pack made "DEB;External"
    pack again DEB -D CPACK_COMPONENTS_ALL=sheaf_library
    cd "$out/made"
    mkdir -p "$out/of" "$out/archive"

    expected="libsheaf-dev libsheaf$SOVERSION$([ -z "$COMMAND" ] || echo " sheaf")"
    for mpi in $MPIS; do expected="$expected libsheaf-$mpi-dev libsheaf-$mpi$SOVERSION"; done
    expected=$(tr ' ' '\n' <<<"$expected" | sort | tr '\n' ' ')
    made=$(for package in *.deb; do dpkg-deb -f "$package" Package; done | sort | tr '\n' ' ')
    [ "$made" = "$expected" ] || fail "the packages are $made, not $expected"

    # has_field PACKAGE FIELD PATTERN
    has_field() {
      local is
      is=$(dpkg-deb -f "$1"_*.deb "$2")
      [[ $is =~ $3 ]] || fail "$1 has the $2 '$is', not $3"
    }
    version=$(dpkg-deb -f libsheaf-dev_*.deb Version)
    for package in $expected; do
      has_field "$package" Version "^${VERSION//./\\.}.*-1\$"
      has_field "$package" Architecture "^$(dpkg --print-architecture)\$"
      has_field "$package" Source '^sheaf$'
      has_field "$package" Maintainer '^[^<]+ <[^ ]+@[^ ]+>$'
      has_field "$package" Description '^irregular memory access'
      [ -f "${package}_${version}_$(dpkg --print-architecture).deb" ] || fail "$package has a file of another name"
      dpkg-deb -x "$package"_*.deb "$out/of/$package"
      dpkg-deb -x "$package"_*.deb "$root"
      for document in copyright changelog.gz changelog.Debian.gz; do
        [ -s "$out/of/$package/usr/share/doc/$package/$document" ] || fail "$package has no $document"
      done
      gzip -dc "$out/of/$package/usr/share/doc/$package/changelog.Debian.gz" | grep -q "^sheaf ($version) " ||
        fail "the changelog of $package is not of $version"
    done
    cmp "libsheaf$SOVERSION"_*.deb ../again/*.deb || fail "the library's package has other bytes when it is made again"
    exactly="\(= $version\)"
    has_field "libsheaf$SOVERSION" Depends 'libc6 \(>= .*libgomp1 \(>= .*libstdc\+\+6 \(>= '
    has_field libsheaf-dev Depends "libsheaf$SOVERSION $exactly"
    for library in "libsheaf:libsheaf$SOVERSION" $(for mpi in $MPIS; do echo "libsheaf_$mpi:libsheaf-$mpi$SOVERSION"; done); do
      dpkg-deb -I "${library#*:}"_*.deb shlibs | grep -qx "${library%:*} $SOVERSION ${library#*:} (>= $version)" ||
        fail "${library#*:} does not tell others to depend on it"
      dpkg-deb -I "${library#*:}"_*.deb triggers | grep -qx 'activate-noawait ldconfig' || fail "${library#*:} has no trigger"
      others=$(cd "$out/of/${library#*:}" && find . ! -type d ! -path "./usr/share/doc/*" ! -name "${library%:*}.so.*")
      [ -z "$others" ] || fail "${library#*:} has $others"
    done
    for mpi in $MPIS; do
      has_field "libsheaf-$mpi$SOVERSION" Depends "lib$mpi"
      has_field "libsheaf-$mpi-dev" Depends "libsheaf-dev $exactly, libsheaf-$mpi$SOVERSION $exactly"
    done

    # Together they have what is installed, each file once, and so has the archive.
    files_in() { (cd "$1" && find . ! -type d ! -path './share/doc/*' | sed 's/\(man1.*\)\.gz$/\1/' | sort); }
    diff <(files_in "$moved") <(files_in "$root/usr") || fail "the packages do not have what is installed"
    diff <(files_in "$moved" | wc -l) <(for package in $expected; do files_in "$out/of/$package/usr"; done | wc -l) ||
      fail "a file is in two packages"
    tar -xzf sheaf-*.tar.gz --one-top-level="$out/archive" --strip-components=1
    diff <(cd "$moved" && find . | sort) <(cd "$out/archive" && find . | sort) || fail "the archive does not have what is installed"
    names=$(tar -tzf sheaf-*.tar.gz)
    [ "$names" = "$(LC_ALL=C sort <<<"$names")" ] || fail "files of the archive are not in order"
    while read -r file; do
      ! readelf -d "$file" 2>/dev/null | grep -E 'RPATH|RUNPATH' || fail "$file looks for libraries in a folder of the build"
    done < <(find "$root" -type f \( -name '*.so.*' -o -path '*/bin/*' \))
    [ -z "$COMMAND" ] || "$root/usr/bin/sheaf" version | grep -F "$VERSION" || fail "the packaged command is not $VERSION"

    # The command needs no development files to run on processes of an MPI.
    printf 'dbacdacb%.0s' {1..500} >"$out/letters.bin"
    for mpi in $MPIS; do
      if [ -z "$COMMAND" ] || ! command -v "mpiexec.$mpi" >/dev/null; then continue; fi
      start_with "$mpi"
      cp -r "$out/of/libsheaf-$mpi$SOVERSION/usr/." "$out/of/sheaf/usr"
      said=$("${start[@]}" "$out/of/sheaf/usr/bin/sheaf" sort "$out/letters.bin" --record-bytes 2 --key 1:1 -o "$out/sorted.bin")
      [[ $said = *"on 2 processes"* ]] || fail "the packaged command did not run on two processes of $mpi: $said"
    done

    consume packages/consumer -DCMAKE_PREFIX_PATH="$root/usr" -DCONSUMER_COMPONENTS=shared
    if command -v pkg-config >/dev/null; then
      export PKG_CONFIG_PATH=$root/usr/$LIBDIR/pkgconfig
      # shellcheck disable=SC2046  # the flags are words
      "$CXX" -std=c++20 "$here/consumer/main.cpp" -o "$out/by-pkg-config" $(pkg-config --cflags --libs sheaf)
      LD_LIBRARY_PATH=$root/usr/$LIBDIR "$out/by-pkg-config" "$VERSION"
    fi
    rm -rf "$out"
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
