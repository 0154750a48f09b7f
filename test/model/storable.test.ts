import fc from 'fast-check'
import { expect, test } from 'vitest'
import { storableText, unstorable } from '../../src/model/storable.ts'

const anyText = fc.string({ unit: fc.nat({ max: 0xffff }).map((unit) => String.fromCharCode(unit)), maxLength: 60 })

test('text that can be stored is left as it is', () => {
  expect(storableText('grüße 👋\n')).toBe('grüße 👋\n')
  expect(unstorable('grüße 👋\n')).toBeUndefined()
})

test('U+0000 and lone surrogates become U+FFFD; a pair stays', () => {
  expect(storableText('a\0b\ud800c\udc00d👋')).toBe('a\uFFFDb\uFFFDc\uFFFDd👋')
})

test('why a key cannot be stored is said', () => {
  expect(unstorable('a\0')).toBe('contains U+0000')
  expect(unstorable('a\ud83d')).toBe('contains half of a surrogate pair')
})

test('a cut falls between code points and is marked', () => {
  expect(storableText('👋👋👋', 12)).toBe('👋👋👋')
  expect(storableText('👋👋👋', 11)).toBe('👋👋…')
  expect(storableText('👋👋👋', 8)).toBe('👋…')
  expect(storableText('abcdef', 2)).toBe('ab')
})

test('any text becomes storable, within its bound, and stays the same the second time', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 0, max: 80 }), (text, maxBytes) => {
      const stored = storableText(text, maxBytes)
      expect(unstorable(stored)).toBeUndefined()
      expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(maxBytes)
      expect(Buffer.from(stored).toString()).toBe(stored)
      expect(storableText(stored, maxBytes)).toBe(stored)
    }),
    { numRuns: 2_000 },
  )
})
