export declare function findNode(major: number): string
