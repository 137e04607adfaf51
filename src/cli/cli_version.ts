/** The version of the package: the bundle has it in place of the name. */
declare const PACKAGE_VERSION: string | undefined;
export const VERSION: string = typeof PACKAGE_VERSION === 'string' ? PACKAGE_VERSION : 'from source';
