export async function upCurrent(): Promise<void> {}
export async function downCurrent(): Promise<void> {}
