/* The least that a Cortex-M needs before main: a vector table, the FPU switched on, variables in place.
 *
 * Results leave through semihosting, which QEMU and debuggers answer: text by SYS_WRITE0, the end by SYS_EXIT_EXTENDED.
 */
#include <stdint.h>
#include <string.h>

extern uint32_t stack_top, data_from, data_start, data_end, bss_start, bss_end;

int main(void);
void reset(void);
void finish(int status);
void say(const char *text);

static int semihosting(int operation, const void *parameter)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = parameter;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void say(const char *text)
{
    (void)semihosting(0x04, text);
}

void finish(int status)
{
    const uint32_t block[2] = {0x20026, (uint32_t)status};
    (void)semihosting(0x20, block);
    for (;;) {
    }
}

static void fault(void)
{
    finish(2);
}

void reset(void)
{
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* CPACR: the FPU, where there is one */
    __asm__ volatile("dsb\n\tisb");
    memcpy(&data_start, &data_from, (size_t)((char *)&data_end - (char *)&data_start));
    memset(&bss_start, 0, (size_t)((char *)&bss_end - (char *)&bss_start));
    finish(main());
}

/* The initial stack pointer, then reset, NMI and the faults. */
__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))(uintptr_t)&stack_top, reset, fault, fault, fault, fault, fault,
};
