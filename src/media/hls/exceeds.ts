/** Whether a measured bit rate is above the declared one: a tenth is allowed. */
export const exceeds = (measured: number, declared: number): boolean => declared > 0 && measured > 1.1 * declared;
