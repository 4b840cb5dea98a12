// What JSON would lose, and what takes all memory at once.
Map.prototype.toJSON = function () { return Object.fromEntries(this) }
Set.prototype.toJSON = function () { return Array.from(this) }
BigInt.prototype.toJSON = function () { return this.toString() }
{
  const most = 1 << 26
  const bound = (prototype, name, length) => {
    const own = prototype[name]
    const { [name]: bounded } = {
      [name](n, fill) {
        if (length(this, n) > most) throw new RangeError("a string of more than " + most + " characters")
        return own.call(this, n, fill)
      },
    }
    Object.defineProperty(prototype, name, { value: bounded, writable: true, configurable: true })
  }
  bound(String.prototype, "repeat", (s, n) => String(s).length * n)
  bound(String.prototype, "padStart", (s, n) => n)
  bound(String.prototype, "padEnd", (s, n) => n)
}
