
/* Ask and tell: decisions whose rewards come late, out of order or never. A ticket is $ticket_bytes bytes, Python's
 * bytes(ticket) on a little-endian machine; the last $pending decisions can be told.
 */
typedef struct {
    double words[$ticket_words];
} ${name}_ticket;

enum {
    ${NAME}_SELECTED = -4,  /* ask: an arm is selected and not updated */
    ${NAME}_BAD_TICKET = -5 /* tell: the ticket is damaged, forged or another learner's */
};
/* What tell and drop answer: learned; learned by the levels above only; told before; forgotten. */
enum { ${NAME}_APPLIED, ${NAME}_LATE, ${NAME}_DUPLICATE, ${NAME}_EXPIRED };

/* Make a decision and write its ticket. The arm, or a negative error. */
int32_t ${name}_ask(${name}_learner *learner, ${name}_ticket *ticket);

/* Learn the $what, in $range, of a ticket's decision. */
int32_t ${name}_tell(${name}_learner *learner, const ${name}_ticket *ticket, double reward);

/* Say that the reward of a ticket will not come. */
int32_t ${name}_drop(${name}_learner *learner, const ${name}_ticket *ticket);
