import { PostOffice } from '../support/post-office.ts'

export const mail = new PostOffice()
