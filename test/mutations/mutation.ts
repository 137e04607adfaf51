/** One guard, and the change that takes it out. */
export interface Mutation {
  /** What the guard holds, as a sentence. */
  guard: string;
  file: string;
  /** Stands in the file exactly once. */
  from: string;
  to: string;
  /** The file of tests that goes red. */
  test: string;
  /** Only the tests with this text in their names. */
  grep?: string;
  /** A program to be run first in the changed copy (`node <build>`): what tests run is made by it. */
  build?: string;
}

export interface Area { title: string; mutations: readonly Mutation[] }
