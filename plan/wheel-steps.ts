export { wheelDigests, type BuildChoice } from "./wheel-digest";
