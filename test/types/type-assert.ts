/** True if both types are the same in every respect, `any` and readonly included. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Does not compile unless `T` is `true`. */
export declare function expectType<T extends true>(): T
