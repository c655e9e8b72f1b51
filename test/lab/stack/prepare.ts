/**
 * Makes the state that `usePreparedLab` starts from. A program of its own, so that `flock` can keep two test files from making it at
 * once.
 */
import { prepareState } from "./prepared-state";

prepareState();
