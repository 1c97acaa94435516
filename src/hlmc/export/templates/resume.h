
/* Go on from the state that was exported with this file. */
void ${name}_resume(${name}_learner *learner);
