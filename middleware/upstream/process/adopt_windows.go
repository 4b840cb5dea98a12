package process

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// Adopt makes us answer for all that is started below us, and is called first of all: a
// job that the system ends with us, in whatever way, has us and so all that we start.
func Adopt() (exit int, done bool) {
	job, err := windows.CreateJobObject(nil, nil) // never closed but by our end
	if err != nil {
		return 0, false
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		_ = windows.AssignProcessToJobObject(job, windows.CurrentProcess()) // before Windows 8 it may be in another
	}
	return 0, false
}
