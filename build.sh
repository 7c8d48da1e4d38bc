#!/usr/bin/env bash
# Builds multihead from source.
#
#   ./build.sh [all]      the wasm engine and the web packages
#   ./build.sh wasm       dist/wasm/multihead-{simd128,relaxed-simd}{,-threads}.wasm, and multihead-train-*.wasm, which also learn
#   ./build.sh native     build/native/libmultihead.a and the C tests beside it, and the tools in build/native, which
#                         are compiled for the widest vectors of this machine
#   ./build.sh web        dist/{core,worker,view,models,embed} for npm, and the site in build/site
#   ./build.sh fuzz       the fuzz targets, with clang's libFuzzer, in build/fuzz
#   ./build.sh format     formats the C code
#   ./build.sh clean      removes build/ and dist/
#   ./build.sh doctor     names the tools that are there and those that are missing
#
#   --sanitize            native: with address and undefined-behaviour sanitizers, in build/native-sanitize
#   --clang               native: with clang, in build/native-clang or build/native-clang-sanitize
#
#   CC                    the native C compiler; gcc or clang if not set
#   EMSDK                 an Emscripten SDK, used when emcc is not on PATH
#   MULTIHEAD_RELAXED=0   leaves out the engines with relaxed SIMD and with threads, on a machine with no compiler for them
#
# A step whose inputs have not changed is skipped.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "${BASH_SOURCE[0]}")"

C_WARNINGS=(-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror)
# Contraction would fuse a*b+c where the host can, and native and wasm would no longer agree.
C_FLAGS=(-std=c11 -ffp-contract=off "${C_WARNINGS[@]}" -Ic/include -Ic/src)
THREAD_FLAGS=(-DMH_THREADS -pthread)
NATIVE_FLAGS=(-O2 -g "${THREAD_FLAGS[@]}")
# The trainer may round as this machine does best, and run on no other. It cuts its batches itself, one thread a part.
WIDE_FLAGS=(-O3 -g -ffp-contract=fast -fno-math-errno -fno-trapping-math -DMULTIHEAD_WIDE)
# shellcheck disable=SC2054  # the comma is the flag's own
SANITIZE_FLAGS=(-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all "${THREAD_FLAGS[@]}")
WASM_FLAGS=(-O3 -DNDEBUG)
STACK_BYTES=65536
INITIAL_MEMORY_BYTES=1048576
MAXIMUM_MEMORY_BYTES=2147483648
LINK_EXTRA=()

SIMD128=dist/wasm/multihead-simd128.wasm
SIMD128_TRAIN=dist/wasm/multihead-train-simd128.wasm
RELAXED=dist/wasm/multihead-relaxed-simd.wasm
RELAXED_TRAIN=dist/wasm/multihead-train-relaxed-simd.wasm
SIMD128_THREADS=dist/wasm/multihead-simd128-threads.wasm
RELAXED_THREADS=dist/wasm/multihead-relaxed-simd-threads.wasm
RELAXED_WANTED=${MULTIHEAD_RELAXED:-1}
# Relaxed SIMD got its final opcodes in LLVM 19.
RELAXED_CLANGS=(26 25 24 23 22 21 20 19)
EMSDK_TAG=4.0.10

# ===== Talking =================================================================================

say() {
    printf '%s\n' "$*"
}

fail() {
    printf 'build.sh: %s\n' "$1" >&2
    shift
    [ $# -eq 0 ] || printf '  %s\n' "$@" >&2
    exit 1
}

# print_sizes FILE...: as they are, and as a server sends them.
print_sizes() {
    node - "$@" <<'JS'
for (const file of process.argv.slice(2)) {
  const bytes = require('node:fs').readFileSync(file);
  const brotli = require('node:zlib').brotliCompressSync(bytes);
  console.log(`  ${file}  ${bytes.length} bytes, ${brotli.length} with brotli`);
}
JS
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# ===== Staleness ===============================================================================

# One number for the names and contents of the given files and folders.
fingerprint() {
    find "$@" -type f -print0 | LC_ALL=C sort -z | xargs -0 cksum | cksum
}

# is_fresh STEP FINGERPRINT OUTPUT...: were these outputs made from these inputs? If not, they will be made anew, and
# until that has succeeded nothing says what they are.
is_fresh() {
    local stamp=build/stamps/$1 inputs=$2 output
    shift 2
    for output in "$@"; do
        [ -e "$output" ] || return 1
    done
    [ "$(cat "$stamp" 2>/dev/null)" = "$inputs" ] || {
        rm -f "$stamp"
        return 1
    }
}

mark_fresh() {
    mkdir -p build/stamps
    printf '%s\n' "$2" >"build/stamps/$1"
}

# newer_than OUTPUT INPUT...: is OUTPUT there, and no input newer?
newer_than() {
    local output=$1 input
    shift
    [ -f "$output" ] || return 1
    for input in "$@"; do
        if ! [ -f "$input" ] || [ "$input" -nt "$output" ]; then
            return 1
        fi
    done
}

# Objects made by another command line are of no use: drops FOLDER when its command has changed.
drop_if_other_command() {
    local folder=$1
    shift
    if [ "$(cat "$folder/command" 2>/dev/null)" != "$*" ]; then
        rm -rf "$folder"
        mkdir -p "$folder"
        printf '%s' "$*" >"$folder/command"
    fi
}

# ===== Compiling ===============================================================================

CORES=$(nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
SPAWNED=()
JOINED=0
FAILURES=0

# Runs a command in the background, at most one a core.
spawn() {
    [ $((${#SPAWNED[@]} - JOINED)) -lt "$CORES" ] || join_oldest
    "$@" &
    SPAWNED+=($!)
}

join_oldest() {
    wait "${SPAWNED[$JOINED]}" || FAILURES=$((FAILURES + 1))
    JOINED=$((JOINED + 1))
}

join_all() {
    while [ "$JOINED" -lt ${#SPAWNED[@]} ]; do
        join_oldest
    done
    [ "$FAILURES" -eq 0 ] || fail "$1"
}

# object_is_fresh OBJECT: is it newer than its source and every header it includes?
object_is_fresh() {
    local depfile=${1%.o}.d
    # A depfile reads "object: input input \" over several lines.
    # shellcheck disable=SC2046  # one word per input is what is wanted; no path here has a space
    [ -f "$depfile" ] && newer_than "$1" $(sed -e 's/^[^:]*://' -e 's/\\$//' "$depfile")
}

# compile FOLDER "SOURCE..." COMMAND...: compiles what is stale to FOLDER/<path of the source>.o and lists the
# objects in OBJECTS.
compile() {
    local folder=$1 sources=$2 source object stale=0
    shift 2
    drop_if_other_command "$folder" "$@"
    OBJECTS=()
    for source in $sources; do
        object=$folder/${source%.c}.o
        OBJECTS+=("$object")
        if ! object_is_fresh "$object"; then
            mkdir -p "${object%/*}"
            spawn "$@" -MMD -MF "${object%.o}.d" -c "$source" -o "$object"
            stale=$((stale + 1))
        fi
    done
    join_all "compiling into $folder failed"
    say "  compiled $stale of ${#OBJECTS[@]} files into $folder"
}

# ===== Emscripten ==============================================================================

apt_is_ours() {
    have apt-get && [ "$(id -u)" = 0 ]
}

apt_install() {
    say "  apt-get install $*"
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 ||
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
}

install_emsdk() {
    local sdk=build/emsdk
    say "  fetching Emscripten $EMSDK_TAG by git into $sdk (about 1 GB, a few minutes)"
    rm -rf "$sdk"
    mkdir -p build
    git clone --quiet --depth 1 --branch "$EMSDK_TAG" https://github.com/emscripten-core/emsdk "$sdk" &&
        "$sdk/emsdk" install "$EMSDK_TAG" && "$sdk/emsdk" activate "$EMSDK_TAG"
}

use_sdk() {
    PATH=$1/upstream/emscripten:$PATH
    EMCC_FROM="the Emscripten SDK in $1"
}

# Puts emcc on PATH, from the first place that has it.
find_emcc() {
    if have emcc; then
        EMCC_FROM=$(command -v emcc)
    elif [ -n "${EMSDK:-}" ] && [ -x "$EMSDK/upstream/emscripten/emcc" ]; then
        use_sdk "$EMSDK"
    elif [ -x build/emsdk/upstream/emscripten/emcc ]; then
        use_sdk "$PWD/build/emsdk"
    elif apt_is_ours && apt_install emscripten && have emcc; then
        EMCC_FROM="Debian's package emscripten, just installed"
    elif have git && have python3 && install_emsdk; then
        use_sdk "$PWD/build/emsdk"
    else
        fail "there is no Emscripten, the compiler from C to WebAssembly. Any of these will do:" \
            "Debian, Ubuntu:  sudo apt-get install emscripten clang-22 lld-22   (or the newest clang and lld, 19 or later)" \
            "macOS:           brew install emscripten" \
            "anywhere:        the SDK, https://emscripten.org/docs/getting_started; then export EMSDK=<its folder>" \
            "(fetching the SDK from here needs git, python3 and a way to github.com)"
    fi
    find_acorn
    say "  Emscripten: $EMCC_FROM, $(emcc --version | sed -n '1s/.*) \([0-9][0-9.]*\).*/\1/p')"
}

# Debian's emcc looks for its acorn where Debian's own Node.js does; another Node.js must be told.
find_acorn() {
    if [ -d /usr/share/nodejs/acorn ] && ! (cd /usr/share/emscripten && node -e "require.resolve('acorn')") 2>/dev/null; then
        export NODE_PATH=/usr/share/nodejs
    fi
}

# ===== WebAssembly =============================================================================

# wasm_ok FILE: can Node.js compile it, and does it import nothing but the notice of memory growth, and with threads the memory?
wasm_ok() {
    node - "$1" <<'JS'
const file = process.argv[2];
require('node:v8').setFlagsFromString('--experimental-wasm-relaxed-simd'); // Node 20 has it behind this flag
const module = new WebAssembly.Module(require('node:fs').readFileSync(file));
const strange = WebAssembly.Module.imports(module).filter(({ kind, name }) => kind !== 'memory' && name !== 'emscripten_notify_memory_growth');
if (strange.length > 0) {
  console.error(`${file} needs functions that nothing defines: ${strange.map(({ name }) => name).join(', ')}`);
  process.exit(1);
}
JS
}

# link_with_emcc OUTPUT EXPORTS OBJECT...
link_with_emcc() {
    local output=$1 exports=$2
    shift 2
    emcc "${WASM_FLAGS[@]}" "$EMCC_SIMD" "$@" -o "$output" -sSTANDALONE_WASM --no-entry -sFILESYSTEM=0 -sMALLOC=emmalloc \
        -sALLOW_MEMORY_GROWTH -sINITIAL_MEMORY="$INITIAL_MEMORY_BYTES" -sMAXIMUM_MEMORY="$MAXIMUM_MEMORY_BYTES" \
        "-s$EMCC_STACK=$STACK_BYTES" -Wl,--stack-first "-sEXPORTED_FUNCTIONS=@$exports"
}

# link_with_lld OUTPUT EXPORTS OBJECT...: what emcc does, against its libraries, with a newer linker. LINK_EXTRA has more flags.
link_with_lld() {
    local output=$1 exports=$2 name names=()
    shift 2
    while read -r name; do
        names+=("--export=${name#_}")
    done <"$exports"
    "$LLD" -o "$output" "$@" "$SYSROOT/lib/wasm32-emscripten/crt1_reactor.o" -L"$SYSROOT/lib/wasm32-emscripten" \
        -lstandalonewasm-memgrow -lc -lemmalloc -lcompiler_rt --entry=_initialize "${names[@]}" --import-undefined \
        -O2 --gc-sections --strip-all -z stack-size="$STACK_BYTES" --stack-first \
        --initial-memory="$INITIAL_MEMORY_BYTES" --max-memory="$MAXIMUM_MEMORY_BYTES" "${LINK_EXTRA[@]}"
}

# The setting for the stack size has had two names; an emcc refuses the one it does not know.
find_stack_setting() {
    mkdir -p build/wasm
    echo 'void mh_probe(void); void mh_probe(void) {}' >build/wasm/stack.c
    EMCC_STACK=STACK_SIZE
    emcc build/wasm/stack.c -o build/wasm/stack.wasm --no-entry -sSTACK_SIZE=65536 >/dev/null 2>&1 || EMCC_STACK=TOTAL_STACK
}

# Can RELAXED_COMPILE and RELAXED_LINK make a module that Node.js accepts?
relaxed_works() {
    local folder=build/wasm/probe
    mkdir -p "$folder"
    cat >"$folder/probe.c" <<'C'
#include <wasm_simd128.h>
v128_t mh_probe(v128_t a, v128_t b, v128_t c);
v128_t mh_probe(v128_t a, v128_t b, v128_t c)
{
    return wasm_f32x4_relaxed_madd(a, b, c);
}
C
    echo _mh_probe >"$folder/exports.txt"
    {
        "${RELAXED_COMPILE[@]}" -c "$folder/probe.c" -o "$folder/probe.o" &&
            "$RELAXED_LINK" "$folder/probe.wasm" "$folder/exports.txt" "$folder/probe.o" && wasm_ok "$folder/probe.wasm"
    } >"$folder/log" 2>&1
}

try_emcc_for_relaxed() {
    SYSROOT=$(em-config CACHE)/sysroot
    LLD=$(em-config LLVM_ROOT)/wasm-ld
    RELAXED_COMPILE=(emcc "${WASM_FLAGS[@]}" -msimd128 -mrelaxed-simd)
    RELAXED_LINK=link_with_emcc
    EMCC_SIMD=-mrelaxed-simd
    RELAXED_FROM=emcc
    relaxed_works
}

# try_clang_for_relaxed SUFFIX: "-22" for clang-22 and wasm-ld-22, "" for clang and wasm-ld.
try_clang_for_relaxed() {
    have "clang$1" && have "wasm-ld$1" || return 1
    SYSROOT=$(em-config CACHE)/sysroot
    LLD=wasm-ld$1
    # The libraries of the sysroot are plain wasm (mvp); what is not asked for here is not used.
    RELAXED_COMPILE=("clang$1" --target=wasm32-unknown-emscripten "--sysroot=$SYSROOT" -mcpu=mvp -msimd128 -mrelaxed-simd "${WASM_FLAGS[@]}")
    RELAXED_LINK=link_with_lld
    RELAXED_FROM="clang$1 and wasm-ld$1, with Emscripten's libraries"
    relaxed_works
}

try_any_clang_for_relaxed() {
    local version
    for version in "${RELAXED_CLANGS[@]}"; do
        ! try_clang_for_relaxed "-$version" || return 0
    done
    try_clang_for_relaxed ""
}

# Installs the newest clang and lld that the distribution has and that are new enough.
apt_install_relaxed_clang() {
    local version
    apt-get update -qq
    for version in "${RELAXED_CLANGS[@]}"; do
        if apt-cache show "clang-$version" "lld-$version" >/dev/null 2>&1; then
            apt_install "clang-$version" "lld-$version"
            return
        fi
    done
    return 1
}

find_relaxed_compiler() {
    if try_emcc_for_relaxed || try_any_clang_for_relaxed; then
        :
    elif apt_is_ours && apt_install_relaxed_clang && try_any_clang_for_relaxed; then
        :
    else
        fail "no compiler here makes the relaxed-SIMD engine (what was tried last is in build/wasm/probe/log). Any of these will do:" \
            "Emscripten 3.1.69 or newer on PATH" \
            "clang and wasm-ld of the same version, 19 or newer; Debian, Ubuntu:  sudo apt-get install clang-22 lld-22" \
            "or leave that engine out:  MULTIHEAD_RELAXED=0 ./build.sh"
    fi
    say "  relaxed SIMD: $RELAXED_FROM"
}

# The roofs that the benchmark and the page on speed measure, as build/wasm/peak-*.wasm: no part of the package.
link_peak() {
    local link=$1 made=build/wasm/peak-$2.wasm
    shift 2
    printf '_%s\n' peak flops_per_step load malloc >build/wasm/peak-exports.txt
    "$@" -std=c11 -c tests/bench/peak.c -o build/wasm/peak.o
    "$link" "$made" build/wasm/peak-exports.txt build/wasm/peak.o
    wasm_ok "$made"
}

# ship_wasm MADE TARGET: checks it and puts it in its place.
ship_wasm() {
    wasm_ok "$1"
    mkdir -p dist/wasm
    mv "$1" "$2"
    print_sizes "$2"
}

build_simd128() {
    EMCC_SIMD=-msimd128
    compile build/wasm/simd128 "$(echo c/src/*/*.c)" emcc "${WASM_FLAGS[@]}" -msimd128 "${C_FLAGS[@]}"
    # The linker drops what a list of exports does not reach, so that a page which only looks does not load what learns.
    link_with_emcc build/wasm/simd128.wasm c/exports.txt "${OBJECTS[@]}"
    ship_wasm build/wasm/simd128.wasm "$SIMD128"
    link_with_emcc build/wasm/train-simd128.wasm c/exports-train.txt "${OBJECTS[@]}"
    ship_wasm build/wasm/train-simd128.wasm "$SIMD128_TRAIN"
}

build_relaxed() {
    find_relaxed_compiler
    compile build/wasm/relaxed-simd "$(echo c/src/*/*.c)" "${RELAXED_COMPILE[@]}" "${C_FLAGS[@]}"
    "$RELAXED_LINK" build/wasm/relaxed-simd.wasm c/exports.txt "${OBJECTS[@]}"
    ship_wasm build/wasm/relaxed-simd.wasm "$RELAXED"
    "$RELAXED_LINK" build/wasm/train-relaxed-simd.wasm c/exports-train.txt "${OBJECTS[@]}"
    ship_wasm build/wasm/train-relaxed-simd.wasm "$RELAXED_TRAIN"
    link_peak "$RELAXED_LINK" relaxed-simd "${RELAXED_COMPILE[@]}"
    # The newest compiler reaches the highest peak in plain SIMD128 too.
    link_peak "$RELAXED_LINK" simd128 "${RELAXED_COMPILE[@]}" -mno-relaxed-simd
}

# An engine with threads is the same objects, but for the one file that knows of threads, on a memory that is shared.
# Each thread has an instance, and gets its stack by the global __stack_pointer.
build_threads() {
    local build source parallel folder=build/wasm/threads
    cat c/exports.txt c/exports-threads.txt >build/wasm/exports-threads.txt
    compile "$folder" c/src/base/parallel.c "${RELAXED_COMPILE[@]}" -matomics -mbulk-memory -mmutable-globals -DMH_THREADS "${C_FLAGS[@]}"
    parallel=${OBJECTS[0]}
    LINK_EXTRA=(--shared-memory --import-memory --export=__stack_pointer)
    for build in simd128 relaxed-simd; do
        OBJECTS=("$parallel")
        for source in c/src/*/*.c; do
            [ "$source" = c/src/base/parallel.c ] || OBJECTS+=("build/wasm/$build/${source%.c}.o")
        done
        link_with_lld "build/wasm/$build-threads.wasm" build/wasm/exports-threads.txt "${OBJECTS[@]}"
        ship_wasm "build/wasm/$build-threads.wasm" "dist/wasm/multihead-$build-threads.wasm"
    done
    LINK_EXTRA=()
}

build_wasm() {
    local inputs outputs=("$SIMD128" "$SIMD128_TRAIN")
    [ "$RELAXED_WANTED" = 0 ] || outputs+=("$RELAXED" "$RELAXED_TRAIN" "$SIMD128_THREADS" "$RELAXED_THREADS")
    inputs=$(fingerprint build.sh c/include c/src c/exports*.txt tests/bench/peak.c)
    if is_fresh wasm "$inputs" "${outputs[@]}"; then
        say "wasm: up to date"
        return
    fi
    say "wasm:"
    find_emcc
    find_stack_setting
    build_simd128
    if [ "$RELAXED_WANTED" = 0 ]; then
        say "  MULTIHEAD_RELAXED=0: no engine with relaxed SIMD or threads"
        rm -f "$RELAXED" "$RELAXED_TRAIN" "$SIMD128_THREADS" "$RELAXED_THREADS"
        link_peak link_with_emcc simd128 emcc "${WASM_FLAGS[@]}" -msimd128
    else
        build_relaxed
        build_threads
    fi
    # The sources find the wasm where dist/ has it, beside core/.
    ln -sfn ../../dist/wasm web/src/wasm
    mark_fresh wasm "$inputs"
}

# ===== Native ==================================================================================

find_native_compiler() {
    NATIVE_CC=${CC:-}
    if [ -z "$NATIVE_CC" ]; then
        local candidate
        for candidate in gcc clang "${RELAXED_CLANGS[@]/#/clang-}"; do
            if have "$candidate"; then
                NATIVE_CC=$candidate
                break
            fi
        done
    fi
    have "${NATIVE_CC:-none}" || fail "there is no native C compiler${CC:+ called $CC}: install gcc or clang, or set CC"
}

# link_test OUTPUT OBJECT...: unless it is newer than all of them.
link_test() {
    local output=$1 cmocka
    shift
    cmocka=$(pkg-config --libs cmocka 2>/dev/null || echo -lcmocka)
    # shellcheck disable=SC2086  # a list of flags
    newer_than "$output" "$@" || "$NATIVE_CC" "${MODE_FLAGS[@]}" "$@" $cmocka -lm -o "$output"
}

# archive LIBRARY OBJECT...: unless it is newer than all of them.
archive() {
    if ! newer_than "$@"; then
        rm -f "$1"
        ar rcs "$@"
    fi
}

# link_tool OUTPUT OBJECT LIBRARY: unless it is newer than both.
link_tool() {
    newer_than "$@" || "$NATIVE_CC" "${TOOL_FLAGS[@]}" "$2" "$3" -lm -lpthread -o "$1"
}

# The flag that names this machine's own instructions: some clangs for ARM know only the second.
this_machine() {
    if echo 'int one;' | "$NATIVE_CC" -march=native -xc -c - -o /dev/null 2>/dev/null; then
        echo -march=native
    else
        echo -mcpu=native
    fi
}

# build_tools FOLDER: a program in FOLDER for each of c/tools, and objects for the tests of what they run on.
build_tools() {
    local folder=$1 library=$1/wide/libmultihead.a tool
    # With the sanitizers too: it is the wide kernels that nothing else runs. gcc fuses multiply-adds from -O2 on, so the
    # wide flags come last.
    TOOL_FLAGS=()
    case $folder in *-sanitize) TOOL_FLAGS=("${SANITIZE_FLAGS[@]}") ;; esac
    TOOL_FLAGS+=("${WIDE_FLAGS[@]}" "$(this_machine)")
    compile "$folder/wide" "$(echo c/src/*/*.c c/tools/*.c c/tools/*/*.c tests/c/tools/*.c tests/c/test_gemm.c)" "$NATIVE_CC" "${C_FLAGS[@]}" "${TOOL_FLAGS[@]}" -D_POSIX_C_SOURCE=200809L -Ic/tools/train -Itests/c
    # shellcheck disable=SC2046  # one word per object is what is wanted; no path here has a space
    archive "$library" $(printf '%s\n' "${OBJECTS[@]}" | grep -E '/c/(src|tools)/[^/]+/')
    for tool in c/tools/*.c; do
        tool=$(basename "$tool" .c)
        spawn link_tool "$folder/$tool" "$folder/wide/c/tools/$tool.o" "$library"
    done
    join_all "building the tools failed"
}

# build_native FOLDER FLAG...: the library, the tools, and a program in FOLDER/tests for each tests/c/test_*.c.
build_native() {
    local folder=$1 library=$1/libmultihead.a support test
    shift
    MODE_FLAGS=("$@")
    say "native ($NATIVE_CC):"
    compile "$folder/library" "$(echo c/src/*/*.c)" "$NATIVE_CC" "${MODE_FLAGS[@]}" "${C_FLAGS[@]}"
    archive "$library" "${OBJECTS[@]}"
    build_tools "$folder"
    compile "$folder/objects" "$(echo tests/c/support/*.c tests/c/test_*.c)" "$NATIVE_CC" "${MODE_FLAGS[@]}" "${C_FLAGS[@]}" -Itests/c
    support=$(printf '%s\n' "${OBJECTS[@]}" | grep /tests/c/support/ || true)
    mkdir -p "$folder/tests"
    for test in tests/c/test_*.c; do
        test=${test##*/}
        # shellcheck disable=SC2086  # the support objects are separate words
        spawn link_test "$folder/tests/${test%.c}" "$folder/objects/tests/c/${test%.c}.o" $support "$library"
    done
    for test in tests/c/test_gemm.c tests/c/tools/test_*.c; do
        spawn link_test "$folder/tests/$(basename "$test" .c)_wide" "$folder/wide/${test%.c}.o" "$folder/wide/libmultihead.a"
    done
    join_all "linking the tests failed"
    say "  $library and $(find "$folder/tests" -type f | wc -l | tr -d ' ') test programs"
}

# A clang that has its run-time libraries: Debian packs them apart.
find_clang() {
    local candidate
    mkdir -p build/fuzz
    for candidate in ${CC:+"$CC"} "${RELAXED_CLANGS[@]/#/clang-}" clang; do
        if have "$candidate" && echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
            "$candidate" -fsanitize=fuzzer -xc - -o build/fuzz/probe 2>/dev/null; then
            NATIVE_CC=$candidate
            return
        fi
    done
    fail "there is no clang with its sanitizers and libFuzzer; Debian, Ubuntu:  sudo apt-get install clang-19 libclang-rt-19-dev"
}

build_fuzz() {
    local target flags=("${SANITIZE_FLAGS[@]}" -fsanitize=fuzzer-no-link) library
    find_clang
    say "fuzz ($NATIVE_CC):"
    compile build/fuzz/library "$(echo c/src/*/*.c)" "$NATIVE_CC" "${flags[@]}" "${C_FLAGS[@]}"
    library=("${OBJECTS[@]}")
    for target in tests/fuzz/fuzz_*.c; do
        target=${target##*/}
        spawn "$NATIVE_CC" "${SANITIZE_FLAGS[@]}" -fsanitize=fuzzer "${C_FLAGS[@]}" "tests/fuzz/$target" "${library[@]}" -lm \
            -o "build/fuzz/${target%.c}"
    done
    join_all "building the fuzz targets failed"
    say "  build/fuzz/fuzz_*: run one with its corpus folder"
}

# ===== Web =====================================================================================

# package_program NAME ARGUMENT...: runs a program of an npm package.
package_program() {
    local program=node_modules/.bin/$1
    shift
    [ -x "$program" ] || fail "the npm packages are not installed" "npm ci"
    "$program" "$@"
}

# Compiles the sources one to one, and puts the files of each model beside its module.
build_npm_package() {
    local model
    find dist -mindepth 1 -maxdepth 1 -not -name wasm -exec rm -rf {} +
    # Models first: the lens imports the default one by its public name.
    package_program tsc -p web/tsconfig.models.json
    package_program tsc -p web/tsconfig.build.json
    for model in web/models/*/; do
        find "$model" -type f -not -name '*.ts' -exec cp {} "dist/models/$(basename "$model")/" ';'
    done
}

build_embed() {
    package_program vite build --logLevel warn -c web/vite.embed.config.ts
    # The lens has one model of its own; the rooms, which have others, are not in this bundle.
    mkdir -p dist/embed/models
    cp -R dist/models/bilingual dist/embed/models/
    find dist/embed/models -name '*.js' -delete -o -name '*.ts' -delete
}

build_site() {
    package_program vite build --logLevel warn -c web/vite.config.ts
    package_program vite build --logLevel warn -c web/vite.standalone.config.ts
    # The examples are bare pages, beside the element as a reader would download it.
    cp -R dist/embed build/site/examples
    cp web/examples/*.html build/site/examples/
}

build_web() {
    local inputs
    inputs=$(fingerprint build.sh package.json package-lock.json tsconfig.json web dist/wasm build/wasm/peak-*.wasm)
    if is_fresh web "$inputs" dist/index.js dist/embed/multihead-lens.js \
        build/site/index.html build/site/standalone.html build/site/examples/blog.html; then
        say "web: up to date"
        return
    fi
    say "web:"
    build_npm_package
    build_embed
    build_site
    print_sizes dist/embed/multihead-lens.js build/site/standalone.html build/site/assets/*.js
    mark_fresh web "$inputs"
}

# ===== Other commands ==========================================================================

format_c() {
    local candidate
    for candidate in clang-format-19 clang-format; do
        if have "$candidate"; then
            find c tests -name '*.[ch]' -not -path '*/node_modules/*' -print0 | xargs -0 "$candidate" -i
            return
        fi
    done
    fail "there is no clang-format; Debian, Ubuntu:  sudo apt-get install clang-format-19"
}

doctor() {
    local tool
    for tool in node npm emcc gcc clang clang-format-19 clang-tidy-19 shellcheck chromium; do
        printf '%-16s %s\n' "$tool" "$(command -v "$tool" || echo 'missing')"
    done
    find_emcc
    find_stack_setting
    find_relaxed_compiler
    find_native_compiler
    say "  native: $NATIVE_CC"
}

# Two builds at once would write the same files: the second waits.
wait_for_turn() {
    mkdir -p build
    ! have flock || { exec 9>build/lock && flock 9; }
}

main() {
    local command=all sanitize='' clang='' argument
    for argument in "$@"; do
        case $argument in
            --sanitize) sanitize=-sanitize ;;
            --clang) clang=-clang ;;
            all | wasm | native | web | fuzz | format | clean | doctor) command=$argument ;;
            *) fail "unknown argument '$argument'; the first lines of build.sh name the commands" ;;
        esac
    done
    wait_for_turn
    case $command in
        all)
            build_wasm
            build_web
            ;;
        wasm) build_wasm ;;
        native)
            if [ "$clang" ]; then find_clang; else find_native_compiler; fi
            if [ "$sanitize" ]; then
                build_native "build/native$clang-sanitize" "${SANITIZE_FLAGS[@]}"
            else
                build_native "build/native$clang" "${NATIVE_FLAGS[@]}"
            fi
            ;;
        web) build_web ;;
        fuzz) build_fuzz ;;
        format) format_c ;;
        clean) rm -rf build dist ;;
        doctor) doctor ;;
    esac
}

main "$@"
