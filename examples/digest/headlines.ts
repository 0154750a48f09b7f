export const headlines: readonly string[] = [
  'the build is green',
  'a review is wanted',
  'lunch is at noon',
  'the release is tagged',
  'a review was given',
  'the printer works again',
  'the build is red',
  'the build is green again',
  'the minutes are online',
  'a new colleague starts on Monday',
  'the release is out',
  'the coffee is fresh',
]
