
/* Ask and tell: decisions whose rewards come late, out of order or never. A ticket is $ticket_bytes bytes, Python's
 * bytes(ticket) on a little-endian machine; the last $pending decisions can be told.
 */
typedef struct {
    double words[$ticket_words];
} ${name}_ticket;

/* What a learner lives as: three random words, the last not 0. The first two become the secret by which it knows its
 * own tickets, when it is first asked. The last is the number of this life: give another one after every start, resume
 * and copy, and a ticket is good for the copies that were taken after it was made, and for no others. A row remembers
 * four lives. A constant will do if rows are not copied and tickets do not leave the machine.
 */
typedef struct {
    uint64_t words[3];
} ${name}_identity;

enum {
    ${NAME}_SELECTED = -4,  /* ask: an arm is selected and not updated */
    ${NAME}_BAD_TICKET = -5 /* tell: the ticket is damaged, forged or another learner's */
};
/* What tell and drop answer: learned; learned by the levels above only; told before; forgotten. */
enum { ${NAME}_APPLIED, ${NAME}_LATE, ${NAME}_DUPLICATE, ${NAME}_EXPIRED };

/* Make a decision and write its ticket. The arm, or a negative error. */
int32_t ${name}_ask(${name}_learner *learner, const ${name}_identity *identity, ${name}_ticket *ticket);

/* Learn the $what, in $range, of a ticket's decision. */
int32_t ${name}_tell(${name}_learner *learner, const ${name}_ticket *ticket, double reward);

/* Say that the reward of a ticket will not come. */
int32_t ${name}_drop(${name}_learner *learner, const ${name}_ticket *ticket);
