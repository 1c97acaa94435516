// A launch on a host: device code as plain C++, whose threads take turns. Comes before device.cuh.
//
// A thread of a block is a context of its own that gives way to the next where it waits for others, so one block can
// wait for another, and every run of the program goes the same way.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>
#include <ucontext.h>

#define DEVICE_FUNCTION inline
#define DEVICE_INLINE static inline
#define DEVICE_NOINLINE static
#define DEVICE_STATIC static
#define DEVICE_GLOBAL(pointer)
#define DEVICE_LANE device_here.lane
#define DEVICE_ENTRY(name, Record, function)                                                             \
    extern "C" void name(const Record *launch, const int64_t *grid, int64_t shared, int64_t together) \
    {                                                                                                  \
        device_launch<Record, function>(*launch, grid[0], grid[1], shared, together != 0);               \
    }

struct device_Block {  // what the threads of a block share
    std::vector<int32_t> counts;
    int32_t note = 0;
    int64_t waiting = 0, passed = 0;
};

static struct {
    int64_t lane, x, y, blocks;
    device_Block *block;
} device_here;
static ucontext_t device_scheduler, *device_running;

#define device_counts device_here.block->counts
#define device_note device_here.block->note

inline int64_t device_thread() { return device_here.lane; }
inline int64_t device_block() { return device_here.x; }
inline int64_t device_block_row() { return device_here.y; }
inline int64_t device_blocks() { return device_here.blocks; }
inline void device_fence() {}
inline void device_pause() { swapcontext(device_running, &device_scheduler); }
inline void device_sync()
{
    device_Block &block = *device_here.block;
    const int64_t before = block.passed;
    if (++block.waiting == DEVICE_BLOCK) {
        block.waiting = 0;
        block.passed++;
    }
    while (block.passed == before) device_pause();
}

template <typename T> inline T device_add(T *at, T x)
{
    const T before = *at;
    *at += x;
    return before;
}
inline int32_t device_take(int32_t *at)
{
    const int32_t before = *at;
    *at = 0;
    return before;
}
inline void device_lower(int64_t *at, int64_t x) { *at = x < *at ? x : *at; }

inline int64_t device_floor_log2(int64_t x) { return 63 - __builtin_clzll((unsigned long long)x); }
inline float device_fast_exp(float x) { return expf(x); }
inline float device_saturate(float x) { return x > 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; }

struct device_Thread {
    int64_t lane, x, y;
    device_Block *block;
    bool done = false;
    ucontext_t context;
    std::unique_ptr<char[]> stack;
};

static const void *device_given;
static device_Thread *device_current;

template <typename Record, void (*function)(const Record &)> void device_begin()
{
    function(*(const Record *)device_given);
    device_current->done = true;
}

// All blocks at once if they wait for one another (together), else thread by thread: such kernels wait for nobody.
template <typename Record, void (*function)(const Record &)>
void device_launch(const Record &launch, int64_t wide, int64_t high, int64_t shared, bool together)
{
    device_here.blocks = wide;
    if (!together) {
        for (device_here.y = 0; device_here.y < high; device_here.y++)
            for (device_here.x = 0; device_here.x < wide; device_here.x++)
                for (device_here.lane = 0; device_here.lane < DEVICE_BLOCK; device_here.lane++) function(launch);
        return;
    }
    const int64_t size = 1 << 17;
    device_given = &launch;
    std::vector<device_Block> blocks((size_t)(wide * high));
    std::vector<device_Thread> threads((size_t)(wide * high * DEVICE_BLOCK));
    for (size_t i = 0; i < threads.size(); i++) {
        device_Thread &thread = threads[i];
        const int64_t number = (int64_t)i / DEVICE_BLOCK;
        thread.lane = (int64_t)i % DEVICE_BLOCK;
        thread.x = number % wide;
        thread.y = number / wide;
        thread.block = &blocks[(size_t)number];
        thread.block->counts.resize((size_t)shared / sizeof(int32_t));
        thread.stack.reset(new char[size]);
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.get();
        thread.context.uc_stack.ss_size = (size_t)size;
        thread.context.uc_link = &device_scheduler;
        makecontext(&thread.context, device_begin<Record, function>, 0);
    }
    for (size_t left = threads.size(); left > 0;) {
        for (device_Thread &thread : threads) {
            if (thread.done) continue;
            device_here = {thread.lane, thread.x, thread.y, wide, thread.block};
            device_current = &thread;
            device_running = &thread.context;
            swapcontext(&device_scheduler, &thread.context);
            if (thread.done) left--;
        }
    }
}
