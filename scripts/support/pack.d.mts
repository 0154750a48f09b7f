export declare function pack(folder: string): string
