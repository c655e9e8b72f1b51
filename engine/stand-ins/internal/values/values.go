// Package values works on property values as the engine sends them: plain JSON, in which an object with the key Signature
// stands for something that JSON has no form for.
package values

import (
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

const (
	// Signature is the key that marks an object; what it stands for is one of the next three.
	Signature = "4dabf18193072939515e22adb298388d"
	Secret    = "1b47061264138c4ac30d75fd1eb44270"
	Asset     = "c44067f5952c0a294b673a41bacd8c17"
	Archive   = "0def7320c3a5731c473e5ecbe6d01bc7"

	// Unknown stands for a value that only the update itself will bring.
	Unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
)

// Object is a set of named values: nil, bool, float64, string, []any or map[string]any.
type Object = map[string]any

// FromStruct gives the values of a message; none for a message that is not there.
func FromStruct(message *structpb.Struct) Object {
	return message.AsMap()
}

// ToStruct makes a message of values.
func ToStruct(object Object) (*structpb.Struct, error) {
	return structpb.NewStruct(object)
}

// Text is what a message can hold of bytes: whatever is no UTF-8 becomes U+FFFD.
func Text(data []byte) string {
	return strings.ToValidUTF8(string(data), "\uFFFD")
}

// SignatureOf is what a marked object stands for; "" for a plain value.
func SignatureOf(value any) string {
	object, _ := value.(Object)
	signature, _ := object[Signature].(string)
	return signature
}

// AsSecret marks a value as secret.
func AsSecret(value any) Object {
	return Object{Signature: Secret, "value": value}
}

// Plain is the value without its secret marks, however deep.
func Plain(value any) any {
	if SignatureOf(value) == Secret {
		return Plain(value.(Object)["value"])
	}
	switch value := value.(type) {
	case []any:
		plain := make([]any, len(value))
		for n, element := range value {
			plain[n] = Plain(element)
		}
		return plain
	case Object:
		return PlainObject(value)
	default:
		return value
	}
}

// PlainObject is Plain for the properties of a resource.
func PlainObject(object Object) Object {
	plain := make(Object, len(object))
	for key, value := range object {
		plain[key] = Plain(value)
	}
	return plain
}

// HasUnknown tells whether the value is unknown, or has something unknown in it.
func HasUnknown(value any) bool {
	switch value := value.(type) {
	case string:
		return value == Unknown
	case []any:
		for _, element := range value {
			if HasUnknown(element) {
				return true
			}
		}
	case Object:
		for _, element := range value {
			if HasUnknown(element) {
				return true
			}
		}
	}
	return false
}

// Equal tells whether two values are the same. Absent and null are; files and archives are compared by their hash.
func Equal(one, other any) bool {
	signature := SignatureOf(one)
	if signature != SignatureOf(other) {
		return false
	}
	if signature == Asset || signature == Archive {
		return reflect.DeepEqual(one.(Object)["hash"], other.(Object)["hash"])
	}
	switch one := one.(type) {
	case []any:
		other, ok := other.([]any)
		return ok && slices.EqualFunc(one, other, Equal)
	case Object:
		other, ok := other.(Object)
		return ok && equalObjects(one, other)
	default:
		return reflect.DeepEqual(one, other)
	}
}

func equalObjects(one, other Object) bool {
	for key := range one {
		if !Equal(one[key], other[key]) {
			return false
		}
	}
	for key := range other {
		if _, seen := one[key]; !seen && other[key] != nil {
			return false
		}
	}
	return true
}
