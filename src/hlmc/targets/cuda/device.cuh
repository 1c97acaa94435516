// What translated kernels need around them: runs of words, primitives, shared memory, entry points.
//
// The same text is CUDA C++ for NVRTC and plain C++ for a host (host.cuh, which comes first there). Before it stand
//   DEVICE_BLOCK   threads per block, which is the stride of rows and workspaces
//   DEVICE_WORD    what a workspace holds: float or double
//   DEVICE_SHARED  1 if workspaces lie in shared memory while a launch runs
//   DEVICE_PIECES, DEVICE_WORDS   words of a workspace: sums of pieces, and all

#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INT64_C(x) x##ll
#define UINT64_C(x) x##ull
#define INFINITY __int_as_float(0x7f800000)
#define DEVICE_FUNCTION __device__ __forceinline__
#define DEVICE_INLINE static __device__ __forceinline__
#define DEVICE_NOINLINE static __device__ __noinline__
#define DEVICE_STATIC static __shared__
#define DEVICE_LANE threadIdx.x
// A pointer that was handed to a function that is not inlined has lost its address space. (Not __ldg: that is inline
// assembly, which no loop gets rid of.)
#define DEVICE_GLOBAL(pointer) __builtin_assume(__isGlobal(pointer))
#define DEVICE_ENTRY(name, Record, function) \
    extern "C" __global__ void name(const __grid_constant__ Record launch) { function(launch); }
#endif

// --- Runs of words in global memory: word i lies i * stride numbers after the first

template <typename T, int stride> struct Run {
    T *first;
    DEVICE_FUNCTION Run() {}
    DEVICE_FUNCTION explicit Run(T *at) : first(at) {}
    DEVICE_FUNCTION Run(Run run, int64_t at) : first(run.first + at * stride) {}
    template <typename U, int other> DEVICE_FUNCTION Run(Run<U, other> run, int64_t at) : first(run.first + at) {}
    DEVICE_FUNCTION T &operator[](int64_t i) const
    {
        DEVICE_GLOBAL(first);
        return first[i * stride];
    }
};
typedef Run<double, DEVICE_BLOCK> Row;              // of one thread: [word, lane]
typedef Run<DEVICE_WORD, DEVICE_BLOCK> Stored;        // the same in the precision of a workspace
typedef Run<double, 1> Words;
typedef Run<DEVICE_WORD, 1> Numbers;
typedef Run<const double, 1> Constants;           // words that nobody writes during a launch
typedef Run<const DEVICE_WORD, 1> Own;
typedef Run<int32_t, 1> Ints;
typedef Run<int64_t, 1> Longs;

struct Overlay {  // words that read as x at one place
    Words run;
    int64_t at;
    double x;
    DEVICE_FUNCTION double operator[](int64_t i) const
    {
        const double there = run[i];
        return i == at ? x : there;
    }
};

// --- Workspaces. Statistics are reached by hlmc.engine.primitives.offset, Sums by noalias.

#if DEVICE_SHARED
// [word, lane] in two arrays, because a compiler knows that two arrays have no word in common, and so keeps sums in
// registers. A workspace is the thread's own: there is nothing to hand over, and a function that is not inlined still
// knows the address space.
DEVICE_STATIC DEVICE_WORD device_sums[(DEVICE_PIECES > 0 ? DEVICE_PIECES : 1) * DEVICE_BLOCK];
DEVICE_STATIC DEVICE_WORD device_statistics[(DEVICE_WORDS > DEVICE_PIECES ? DEVICE_WORDS - DEVICE_PIECES : 1) * DEVICE_BLOCK];

struct Workspace {  // from word DEVICE_PIECES on
    DEVICE_FUNCTION Workspace() {}
    DEVICE_FUNCTION Workspace(Stored) {}
    DEVICE_FUNCTION DEVICE_WORD &operator[](int64_t i) const
    {
        return (device_statistics + DEVICE_LANE)[((int32_t)i - DEVICE_PIECES) * DEVICE_BLOCK];
    }
};

struct Statistics {  // the same from some word on
    DEVICE_WORD *first;
    DEVICE_FUNCTION Statistics() {}
    DEVICE_FUNCTION Statistics(Workspace run, int64_t at) : first(&run[at]) {}
    DEVICE_FUNCTION Statistics(Statistics run, int64_t at) : first(run.first + (int32_t)at * DEVICE_BLOCK) {}
    DEVICE_FUNCTION DEVICE_WORD &operator[](int64_t i) const { return first[(int32_t)i * DEVICE_BLOCK]; }
};

struct Sums {  // up to word DEVICE_PIECES
    DEVICE_FUNCTION Sums() {}
    DEVICE_FUNCTION explicit Sums(Workspace) {}
    DEVICE_FUNCTION DEVICE_WORD &operator[](int64_t i) const { return (device_sums + DEVICE_LANE)[(int32_t)i * DEVICE_BLOCK]; }
};

DEVICE_FUNCTION void device_fetch(Workspace workspace, Stored stored)
{
    for (int j = 0; j < DEVICE_PIECES; j++) Sums{workspace}[j] = stored[j];
    for (int j = DEVICE_PIECES; j < DEVICE_WORDS; j++) workspace[j] = stored[j];
}

DEVICE_FUNCTION void device_keep(Workspace workspace, Stored stored)
{
    for (int j = 0; j < DEVICE_PIECES; j++) stored[j] = Sums{workspace}[j];
    for (int j = DEVICE_PIECES; j < DEVICE_WORDS; j++) stored[j] = workspace[j];
}
#else
typedef Stored Workspace;
typedef Stored Statistics;
typedef Stored Sums;
DEVICE_FUNCTION void device_fetch(Workspace, Stored) {}
DEVICE_FUNCTION void device_keep(Workspace, Stored) {}
#endif

// --- The engine's primitives

template <typename To, typename From> DEVICE_FUNCTION To device_cast_bits(From x)
{
    To to;
    memcpy(&to, &x, sizeof to);
    return to;
}

template <typename R> DEVICE_FUNCTION uint64_t device_bits(R run, int64_t at)
{
    return device_cast_bits<uint64_t>((double)run[at]);
}

template <typename R> DEVICE_FUNCTION void device_put_bits(R run, int64_t at, uint64_t bits)
{
    run[at] = device_cast_bits<double>(bits);
}

template <typename T> DEVICE_FUNCTION double device_load(int64_t address) { return (double)*(const T *)address; }

DEVICE_FUNCTION int64_t device_exponent(double x) { return (int64_t)((device_cast_bits<uint64_t>(x) >> 52) & 0x7FF) - 1022; }
DEVICE_FUNCTION int64_t device_exponent(float x) { return (int64_t)((device_cast_bits<uint32_t>(x) >> 23) & 0xFF) - 126; }
DEVICE_FUNCTION double device_power_of_two(int64_t k) { return device_cast_bits<double>((uint64_t)(k + 1023) << 52); }

template <typename T> DEVICE_FUNCTION T device_min(T a, T b) { return b < a ? b : a; }
template <typename T> DEVICE_FUNCTION T device_max(T a, T b) { return b > a ? b : a; }
template <typename T> DEVICE_FUNCTION T device_abs(T x) { return x < 0 ? -x : x; }

// --- Python's //, % and ** for the functions of users

template <typename T> DEVICE_FUNCTION T device_quotient(T a, T b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
template <typename T> DEVICE_FUNCTION T device_remainder(T a, T b)
{
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
template <typename T> DEVICE_FUNCTION T device_power(T a, T b)
{
    T power = 1;
    for (T i = 0; i < b; i++) power *= a;
    return power;
}
template <> DEVICE_FUNCTION double device_quotient<double>(double a, double b) { return floor(a / b); }
template <> DEVICE_FUNCTION double device_remainder<double>(double a, double b)
{
    const double rest = fmod(a, b);
    return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}
template <> DEVICE_FUNCTION double device_power<double>(double a, double b) { return pow(a, b); }
template <> DEVICE_FUNCTION float device_quotient<float>(float a, float b) { return floorf(a / b); }
template <> DEVICE_FUNCTION float device_remainder<float>(float a, float b)
{
    const float rest = fmodf(a, b);
    return rest != 0.0f && (rest < 0.0f) != (b < 0.0f) ? rest + b : rest;
}
template <> DEVICE_FUNCTION float device_power<float>(float a, float b) { return powf(a, b); }

#ifdef __CUDACC_RTC__
template <> DEVICE_FUNCTION double device_min<double>(double a, double b) { return fmin(a, b); }
template <> DEVICE_FUNCTION double device_max<double>(double a, double b) { return fmax(a, b); }
template <> DEVICE_FUNCTION float device_min<float>(float a, float b) { return fminf(a, b); }
template <> DEVICE_FUNCTION float device_max<float>(float a, float b) { return fmaxf(a, b); }
DEVICE_FUNCTION int64_t device_floor_log2(int64_t x) { return 63 - __clzll(x); }
DEVICE_FUNCTION float device_fast_exp(float x) { return __expf(x); }
DEVICE_FUNCTION float device_saturate(float x) { return __saturatef(x); }

// --- Threads, and what they share

extern __shared__ int32_t device_counts[];
DEVICE_STATIC int32_t device_note;

DEVICE_FUNCTION int64_t device_thread() { return threadIdx.x; }
DEVICE_FUNCTION int64_t device_block() { return blockIdx.x; }
DEVICE_FUNCTION int64_t device_block_row() { return blockIdx.y; }
DEVICE_FUNCTION int64_t device_blocks() { return gridDim.x; }
DEVICE_FUNCTION void device_sync() { __syncthreads(); }
DEVICE_FUNCTION void device_fence() { __threadfence(); }
DEVICE_FUNCTION void device_pause() { __nanosleep(40); }
DEVICE_FUNCTION int32_t device_add(int32_t *at, int32_t x) { return atomicAdd(at, x); }
DEVICE_FUNCTION int32_t device_take(int32_t *at) { return atomicExch(at, 0); }
DEVICE_FUNCTION void device_lower(int64_t *at, int64_t x) { atomicMin(at, x); }
#endif

DEVICE_FUNCTION void device_atomic_add(Ints run, int64_t at, int64_t x) { device_add(&run[at], (int32_t)x); }
DEVICE_FUNCTION int32_t device_atomic_take(Ints run, int64_t at) { return device_take(&run[at]); }
DEVICE_FUNCTION void device_atomic_min(Longs run, int64_t at, int64_t x) { device_lower(&run[at], x); }
DEVICE_FUNCTION void device_clear_count(int64_t k) { device_counts[k] = 0; }
DEVICE_FUNCTION int32_t device_read_count(int64_t k) { return device_counts[k]; }
DEVICE_FUNCTION void device_increment_count(int64_t k) { device_add(&device_counts[k], 1); }
DEVICE_FUNCTION void device_put_note(int64_t x) { device_note = (int32_t)x; }
DEVICE_FUNCTION int32_t device_read_note() { return device_note; }

// Barriers between blocks: arrivals, then releases, which only grow. A volatile load: no compiler and no first-level
// cache may answer instead of memory.
DEVICE_FUNCTION int32_t device_arrive(Ints barriers, int64_t which) { return device_add(&barriers[2 * which], 1); }
DEVICE_FUNCTION int32_t device_releases(Ints barriers, int64_t which)
{
    return *(volatile int32_t *)&barriers[2 * which + 1];
}
DEVICE_FUNCTION void device_release_barrier(Ints barriers, int64_t which)  // arrivals are 0 before anyone sees the release
{
    *(volatile int32_t *)&barriers[2 * which] = 0;
    device_fence();
    device_add(&barriers[2 * which + 1], 1);
}
